// What PTX holds: instructions that tell how data moves and which units work. Counts are of the text, not of what ran.
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "diagnose/internal.h"

typedef struct {
    double kernels, loads, load_bytes, stores, store_bytes, async, bulk, mma, wgmma, barriers, shuffles, atomics, fp64,
        converts, instructions, local, shared;
} counts;

static bool starts(const char *s, const char *end, const char *with) {
    const size_t n = strlen(with);
    return (size_t)(end - s) >= n && memcmp(s, with, n) == 0;
}

static bool holds(const char *s, const char *end, const char *what) {
    return memmem(s, (size_t)(end - s), what, strlen(what));
}

// Bytes that one thread moves by an instruction like ld.global.v4.b32: its last part is the type, one may be the
// vector.
static double width_of(const char *s, const char *end) {
    double bits = 0, vector = 1;
    while (s < end) {
        const char *dot = memchr(s, '.', (size_t)(end - s)), *part_end = dot ? dot : end;
        const size_t n = (size_t)(part_end - s);
        if (n == 2 && s[0] == 'v' && (s[1] == '2' || s[1] == '4' || s[1] == '8')) vector = s[1] - '0';
        if (n >= 2 && n <= 4 && strchr("bufs", s[0]) && s[1] >= '0' && s[1] <= '9') bits = strtod(s + 1, NULL);
        s = part_end + 1;
    }
    return vector * bits / 8;
}

// opcode: "ld.global.v4.b32", without guard and operands.
static void count_opcode(counts *c, const char *s, const char *end) {
    c->instructions++;
    if (starts(s, end, "ld.global") || starts(s, end, "ld.weak.global")) c->loads++, c->load_bytes += width_of(s, end);
    else if (starts(s, end, "st.global")) c->stores++, c->store_bytes += width_of(s, end);
    else if (starts(s, end, "cp.async.bulk")) c->bulk++;
    else if (starts(s, end, "cp.async")) c->async++;
    else if (starts(s, end, "wgmma.mma_async") || starts(s, end, "tcgen05.mma")) c->wgmma++;
    else if (starts(s, end, "mma.") || starts(s, end, "wmma.mma")) c->mma++;
    else if (starts(s, end, "bar.") || starts(s, end, "barrier.")) c->barriers++;
    else if (starts(s, end, "shfl.") || starts(s, end, "redux.")) c->shuffles++;
    else if (starts(s, end, "atom.") || starts(s, end, "red.")) c->atomics++;
    else if (starts(s, end, "cvt.") && (holds(s, end, "f16") || holds(s, end, "bf16"))) c->converts++;
    else if (holds(s, end, ".f64") && !starts(s, end, "ld.") && !starts(s, end, "st.") && !starts(s, end, "mov."))
        c->fp64++;
}

// ".local .align 16 .b8 __local_depot0[128];": bytes of the array.
static double array_bytes(const char *s, const char *end) {
    const char *open = memchr(s, '[', (size_t)(end - s));
    return open && open + 1 < end && open[1] >= '0' && open[1] <= '9' ? strtod(open + 1, NULL) : 0;
}

static void count_directive(counts *c, const char *s, const char *end) {
    if (starts(s, end, ".local")) c->local += array_bytes(s, end);
    else if (starts(s, end, ".shared")) c->shared += array_bytes(s, end);
    else if (holds(s, end, ".entry")) c->kernels++;
}

static void count_line(counts *c, const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    if (s < end && *s == '@') {  // a guard: @%p1 or @!%p1
        while (s < end && *s != ' ' && *s != '\t') s++;
        while (s < end && (*s == ' ' || *s == '\t')) s++;
    }
    if (s == end) return;
    if (*s == '.') {
        count_directive(c, s, end);
        return;
    }
    if (*s < 'a' || *s > 'z') return;  // labels, braces, comments
    const char *stop = s;
    while (stop < end && *stop != ' ' && *stop != '\t' && *stop != ';') stop++;
    if (memchr(s, '.', (size_t)(stop - s)) || (stop < end && *stop == ';')) count_opcode(c, s, stop);
}

void kg_facts_from_ptx(kg_facts *f, const char *text, size_t size) {
    counts c = {0};
    kg_line line;
    for (const char *at = text; kg_next_line(&at, text + size, &line);) count_line(&c, line.p, line.p + line.n);
    if (!c.kernels) return;
    kg_facts_add(f, "kernels", c.kernels);
    kg_facts_add(f, "loads", c.loads);
    kg_facts_add(f, "loaded_bytes", c.load_bytes);
    kg_facts_add(f, "stores", c.stores);
    kg_facts_add(f, "stored_bytes", c.store_bytes);
    kg_facts_add(f, "async_copies", c.async + c.bulk);
    kg_facts_add(f, "matrix_instructions", c.mma + c.wgmma);
    kg_facts_add(f, "warpgroup_instructions", c.wgmma);
    kg_facts_add(f, "barriers", c.barriers);
    kg_facts_add(f, "shuffles", c.shuffles);
    kg_facts_add(f, "atomics", c.atomics);
    kg_facts_add(f, "double_instructions", c.fp64);
    kg_facts_add(f, "half_conversions", c.converts);
    kg_facts_add(f, "instructions", c.instructions);
    kg_facts_at_least(f, "local_bytes", c.local);
    kg_facts_at_least(f, "shared_bytes", c.shared);
    // Means over all of them, so they are made from the sums.
    const double loads = kg_facts_get(f, "loads"), stores = kg_facts_get(f, "stores");
    if (loads > 0) kg_facts_set(f, "load_width", kg_facts_get(f, "loaded_bytes") / loads);
    if (stores > 0) kg_facts_set(f, "store_width", kg_facts_get(f, "stored_bytes") / stores);
}
