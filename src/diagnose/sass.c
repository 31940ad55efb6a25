// What the machine code itself holds, as nvdisasm prints it. PTX says what was asked for; this says what ptxas made of
// it, so where both are known this one counts. Counts are of the text, not of what ran.
#include <string.h>

#include "diagnose/internal.h"

typedef struct {
    double instructions, loads, loaded, stores, stored, local, async, mma, wgmma, barriers, fp64;
} counts;

static bool starts(const char *s, size_t n, const char *with) {
    const size_t m = strlen(with);
    return n >= m && memcmp(s, with, m) == 0;
}

static bool holds(const char *s, size_t n, const char *what) { return memmem(s, n, what, strlen(what)) != NULL; }

// Bytes a thread moves by LDG.E.128.CONSTANT and the like; without a size it is 4.
static double width_of(const char *s, size_t n) {
    if (holds(s, n, ".128")) return 16;
    if (holds(s, n, ".64")) return 8;
    if (holds(s, n, ".U16") || holds(s, n, ".S16") || holds(s, n, ".16")) return 2;
    if (holds(s, n, ".U8") || holds(s, n, ".S8")) return 1;
    return 4;
}

static void count(counts *c, const char *s, size_t n) {
    static const char *const doubles[] = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "MUFU.RCP64", "MUFU.RSQ64"};
    static const char *const warps[] = {"HMMA", "IMMA", "DMMA", "QMMA", "BMMA", "OMMA"};
    static const char *const groups[] = {"HGMMA",   "IGMMA",   "QGMMA",   "BGMMA",
                                         "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA"};
    if (starts(s, n, "NOP")) return;
    c->instructions++;
    if (starts(s, n, "LDGSTS") || starts(s, n, "UTMALDG") || starts(s, n, "UBLKCP")) c->async++;
    else if (starts(s, n, "LDG.") || starts(s, n, "LD.")) c->loads++, c->loaded += width_of(s, n);
    else if (starts(s, n, "STG.") || starts(s, n, "ST.")) c->stores++, c->stored += width_of(s, n);
    else if (starts(s, n, "LDL") || starts(s, n, "STL")) c->local++;
    else if (starts(s, n, "BAR.")) c->barriers++;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) c->fp64 += starts(s, n, doubles[i]);
    for (size_t i = 0; i < sizeof warps / sizeof *warps; i++) c->mma += starts(s, n, warps[i]);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) c->wgmma += starts(s, n, groups[i]);
}

// "        /*0070*/              @!P0 LDG.E.128 R4, [R2.64] ;": an address in hexadecimal, then a guard, then the
// opcode.
static void read_line(counts *c, const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    if (end - s < 8 || s[0] != '/' || s[1] != '*') return;
    s += 2;
    while (s < end && *s && strchr("0123456789abcdef", *s)) s++;
    if (end - s < 2 || s[0] != '*' || s[1] != '/') return;
    for (s += 2; s < end && (*s == ' ' || *s == '\t' || *s == '@');) {
        const bool guard = *s == '@';
        while (s < end && (guard ? *s != ' ' && *s != '\t' : *s == ' ' || *s == '\t')) s++;
    }
    const char *stop = s;
    while (stop < end && *stop != ' ' && *stop != '\t' && *stop != ';') stop++;
    if (stop > s && *s >= 'A' && *s <= 'Z') count(c, s, (size_t)(stop - s));
}

void kg_facts_from_sass(kg_facts *f, const char *text, size_t size) {
    counts c = {0};
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        read_line(&c, line, stop);
        line = stop + 1;
    }
    if (!c.instructions) return;
    const struct {
        const char *name;
        double value;
    } found[] = {{"sass_instructions", c.instructions},
                 {"sass_loads", c.loads},
                 {"sass_loaded_bytes", c.loaded},
                 {"sass_stores", c.stores},
                 {"sass_stored_bytes", c.stored},
                 {"sass_async_copies", c.async},
                 {"sass_matrix_instructions", c.mma + c.wgmma},
                 {"sass_warpgroup_instructions", c.wgmma},
                 {"sass_double_instructions", c.fp64},
                 {"sass_barriers", c.barriers},
                 {"local_accesses", c.local}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) kg_facts_add(f, found[i].name, found[i].value);
}

void kg_facts_prefer_sass(kg_facts *f) {
    static const struct {
        const char *name, *sass;
    } same[] = {{"instructions", "sass_instructions"},
                {"loads", "sass_loads"},
                {"stores", "sass_stores"},
                {"async_copies", "sass_async_copies"},
                {"matrix_instructions", "sass_matrix_instructions"},
                {"warpgroup_instructions", "sass_warpgroup_instructions"},
                {"double_instructions", "sass_double_instructions"},
                {"barriers", "sass_barriers"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const double value = kg_facts_get(f, same[i].sass);
        if (value == value) kg_facts_set(f, same[i].name, value);
    }
    const double loads = kg_facts_get(f, "sass_loads"), stores = kg_facts_get(f, "sass_stores");
    if (loads > 0) kg_facts_set(f, "load_width", kg_facts_get(f, "sass_loaded_bytes") / loads);
    if (stores > 0) kg_facts_set(f, "store_width", kg_facts_get(f, "sass_stored_bytes") / stores);
}
