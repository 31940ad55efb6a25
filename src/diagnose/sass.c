// What the machine code itself holds, as nvdisasm prints it. PTX says what was asked for; this says what ptxas made of
// it, so where both are known this one counts. Counts are of the text, not of what ran.
#include <string.h>

#include "base/lines.h"
#include "diagnose/internal.h"

typedef struct {
    double instructions, loads, loaded, stores, stored, local, async, mma, wgmma, barriers, fp64;
} counts;

#define LONGEST 64  // of an opcode with its modifiers

static bool starts(const char *opcode, const char *with) { return strncmp(opcode, with, strlen(with)) == 0; }

static int any(const char *opcode, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (starts(opcode, list[i])) return 1;
    return 0;
}
#define ANY(OPCODE, LIST) any(OPCODE, LIST, sizeof(LIST) / sizeof *(LIST))

// Bytes a thread moves by LDG.E.128.CONSTANT and the like; without a size it is 4.
static double width_of(const char *opcode) {
    if (strstr(opcode, ".128")) return 16;
    if (strstr(opcode, ".64")) return 8;
    if (strstr(opcode, ".U16") || strstr(opcode, ".S16") || strstr(opcode, ".16")) return 2;
    if (strstr(opcode, ".U8") || strstr(opcode, ".S8")) return 1;
    return 4;
}

static void count(counts *c, const char *opcode) {
    static const char *const doubles[] = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "MUFU.RCP64", "MUFU.RSQ64"};
    static const char *const warps[] = {"HMMA", "IMMA", "DMMA", "QMMA", "BMMA", "OMMA"};
    static const char *const groups[] = {"HGMMA",   "IGMMA",   "QGMMA",   "BGMMA",
                                         "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA"};
    static const char *const copies[] = {"LDGSTS", "UTMALDG", "UBLKCP"};
    static const char *const loads[] = {"LDG.", "LD."};
    static const char *const stores[] = {"STG.", "ST."};
    static const char *const locals[] = {"LDL", "STL"};
    if (starts(opcode, "NOP")) return;
    c->instructions++;
    c->async += ANY(opcode, copies);
    if (ANY(opcode, loads)) c->loads++, c->loaded += width_of(opcode);
    if (ANY(opcode, stores)) c->stores++, c->stored += width_of(opcode);
    c->local += ANY(opcode, locals);
    c->barriers += starts(opcode, "BAR.");
    c->fp64 += ANY(opcode, doubles);
    c->mma += ANY(opcode, warps);
    c->wgmma += ANY(opcode, groups);
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
    char opcode[LONGEST];
    size_t n = 0;
    while (s < end && n + 1 < sizeof opcode && *s && !strchr(" \t;", *s)) opcode[n++] = *s++;
    opcode[n] = 0;
    if (opcode[0] >= 'A' && opcode[0] <= 'Z') count(c, opcode);
}

static bool begins_function(kg_line line) {
    static const char section[] = ".section", text[] = ".text.";
    const char *at = memmem(line.p, line.n, section, sizeof section - 1);
    return at && memmem(at, (size_t)(line.p + line.n - at), text, sizeof text - 1);
}

// Double instructions and local memory are faults, which only some of a file's functions may have, and not the one that
// ran: they count where each has some. *without: what one of those before `c` lacks; *start: c where this one began.
static void end_function(const counts *c, counts *start, counts *without) {
    if (c->instructions > start->instructions) {
        without->fp64 += c->fp64 == start->fp64;
        without->local += c->local == start->local;
    }
    *start = *c;
}

void kg_facts_from_sass(kg_facts *f, const char *text, size_t size) {
    counts c = {0}, start = {0}, without = {0};
    kg_line line;
    for (const char *at = text; kg_next_line(&at, text + size, &line);) {
        if (begins_function(line)) end_function(&c, &start, &without);
        read_line(&c, line.p, line.p + line.n);
    }
    end_function(&c, &start, &without);
    if (without.fp64 > 0) c.fp64 = 0;
    if (without.local > 0) c.local = 0;
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
