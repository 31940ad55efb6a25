// Where a candidate's time goes, line by line: samples of its calls (runner/loader/sampling.h), laid beside the listing
// of its machine code, which says the lines that each instruction is of. The samples come from the candidate's own
// process and are believed as far as a hint goes.
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "diagnose/internal.h"

#define MOST_SAMPLES 4096
#define MOST_CALLS   8
// Fewer say nothing; and lines that are mostly not of the source (other files, #line) say nothing of it.
#define LEAST_SAMPLES 20
#define LEAST_KNOWN   0.5

// ---- the listing ----------------------------------------------------------------------------------------------------
typedef enum { NEITHER, SCALAR, PACKED } float_kind;

typedef struct {
    uint64_t at;
    float_kind kind;
    bool waits;       // a call that waits for other threads, whose time is not seen
    kg_sample lines;  // of the source: its own, and those that it was inlined at
} instruction;

typedef struct {
    instruction *items;
    size_t n, room;
} listing;

// x86's and ARM's float arithmetic, by the mnemonic: vmulss and mulps; fmul s0 and fmul v0.4s.
static float_kind kind_of(const char *mnemonic, size_t n) {
    static const char *const x86[] = {"add",    "sub",    "mul", "div",  "sqrt",  "min",   "max", "fmadd", "fmsub",
                                      "fnmadd", "fnmsub", "cvt", "comi", "ucomi", "round", "cmp", "movs",  "movu"};
    const char *at = mnemonic, *end = mnemonic + strcspn(mnemonic, " \t\n");
    if (end > mnemonic + n) end = mnemonic + n;
    if (*at == 'f' && end - at > 2) {  // ARM
        const char *operand = end + strspn(end, " \t");
        return operand >= mnemonic + n              ? NEITHER
               : *operand == 'v'                    ? PACKED
               : *operand == 's' || *operand == 'd' ? SCALAR
                                                    : NEITHER;
    }
    if (*at == 'v') at++;
    bool arithmetic = false;
    for (size_t i = 0; i < sizeof x86 / sizeof *x86; i++) arithmetic |= strncmp(at, x86[i], strlen(x86[i])) == 0;
    if (!arithmetic || end - at < 4 || (end[-1] != 's' && end[-1] != 'd')) return NEITHER;
    return end[-2] == 'p' ? PACKED : end[-2] == 's' ? SCALAR : NEITHER;
}

static void note_line(kg_sample *s, uint32_t line) {
    for (uint32_t k = 0; k < s->n; k++)
        if (s->lines[k].from == line) return;
    if (s->n < KG_CHAIN) s->lines[s->n++] = (kg_lines){line, line};
}

// "/scratch/candidate.c:12 (discriminator 3)", noted where it is of file "candidate.c".
static void note_place(kg_sample *s, const char *text, size_t n, const char *file) {
    const char *remark = memchr(text, '(', n), *colon = memrchr(text, ':', remark ? (size_t)(remark - text) : n);
    const size_t length = strlen(file);
    if (!colon || (size_t)(colon - text) < length || memcmp(colon - length, file, length) != 0) return;
    if ((size_t)(colon - text) > length && colon[-(ptrdiff_t)length - 1] != '/') return;
    const uint32_t line = (uint32_t)strtoul(colon + 1, NULL, 10);
    if (line > 0) note_line(s, line);
}

static bool begins(const char *text, size_t n, const char *with) {
    const size_t length = strlen(with);
    return n > length && memcmp(text, with, length) == 0;
}

static bool waits(const char *text, size_t n) {
    static const char *const calls[] = {"<GOMP_parallel", "<__kmpc_fork_call", "<pthread_join", "<thrd_join"};
    const char *name = memchr(text, '<', n);
    for (size_t i = 0; name && i < sizeof calls / sizeof *calls; i++)
        if (begins(name, (size_t)(text + n - name), calls[i])) return true;
    return false;
}

static void add_instruction(listing *l, const instruction *i) {
    if (l->n == l->room) l->items = kg_realloc(l->items, (l->room = 2 * l->room + 64) * sizeof *l->items);
    l->items[l->n++] = *i;
}

// One line of the listing; `now`: what the lines before it said of the instructions to come.
static void read_listed(listing *l, instruction *now, const char *text, size_t n, const char *file) {
    char *end;
    if (begins(text, n, "inlined by ")) {
        note_place(&now->lines, text, n, file);
    } else if (text[0] == ' ') {
        now->at = strtoull(text, &end, 16);
        if (*end != ':' || end[1] != '\t') return;
        now->kind = kind_of(end + 2, n - (size_t)(end + 2 - text));
        now->waits = waits(end + 2, n - (size_t)(end + 2 - text));
        add_instruction(l, now);
    } else if (text[n - 1] != ':') {
        now->lines.n = 0;
        note_place(&now->lines, text, n, file);
    }
}

static int by_address(const void *a, const void *b) {
    const uint64_t x = ((const instruction *)a)->at, y = ((const instruction *)b)->at;
    return (x > y) - (x < y);
}

static listing read_listing(const char *text, const char *file) {
    listing l = {0};
    instruction now = {0};
    const char *end = text + strlen(text);
    kg_line line;
    while (kg_next_line(&text, end, &line))
        if (line.n) read_listed(&l, &now, line.p, line.n, file);
    if (l.n) qsort(l.items, l.n, sizeof *l.items, by_address);
    return l;
}

// The instruction that holds this address; NULL.
static const instruction *holding(const listing *l, uint64_t at) {
    size_t low = 0, high = l->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (l->items[middle].at <= at) low = middle + 1;
        else high = middle;
    }
    return low && at - l->items[low - 1].at < 16 ? &l->items[low - 1] : NULL;
}

// ---- samples --------------------------------------------------------------------------------------------------------
typedef struct {
    uint32_t n, scalar, packed, library;  // n: at work, in its own code or the library's
} counts;

static void add_lines(kg_sample *s, const instruction *i) {
    for (uint32_t k = 0; i && k < i->lines.n; k++) note_line(s, i->lines.lines[k].from);
}

// false: the calling thread waited for others, who are not sampled: that is no place where time goes.
static bool read_sample(const char *text, size_t n, const listing *l, kg_sample *s, counts *c) {
    const char *end = text + n, *at = text, *call = memchr(text, ' ', n);
    const instruction *caller = call ? holding(l, strtoull(call + 1, NULL, 16)) : NULL;
    *s = (kg_sample){.weight = 1};
    if (*text != '@' && caller && caller->waits) return false;
    if (*text == '@') {
        const instruction *i = holding(l, strtoull(text + 1, NULL, 16));
        c->n++;
        c->scalar += i && i->kind == SCALAR;
        c->packed += i && i->kind == PACKED;
        add_lines(s, i);
    } else {
        const bool numbers = begins(text, n, "libm.") || begins(text, n, "libm-"), vectors = begins(text, n, "libmvec");
        c->n += numbers || vectors;
        c->library += numbers;
        c->packed += vectors;
    }
    for (int k = 0; k < MOST_CALLS && (at = memchr(at, ' ', (size_t)(end - at))); k++)
        add_lines(s, holding(l, strtoull(++at, NULL, 16)));
    return true;
}

static void say_facts(const counts *c, kg_facts *f) {
    if (c->n == 0) return;
    kg_facts_set(f, "scalar_share", (double)c->scalar / c->n);
    kg_facts_set(f, "vector_share", (double)c->packed / c->n);
    kg_facts_set(f, "math_share", (double)c->library / c->n);
}

kg_profile *kg_profile_read(const char *samples, const char *code, const char *file, kg_facts *f) {
    kg_profile *p = kg_alloc(sizeof *p + MOST_SAMPLES * sizeof *p->samples);
    listing l = read_listing(code, file);
    counts c = {0};
    uint32_t known = 0;
    const char *end = samples + strlen(samples);
    kg_line line;
    while (p->n < MOST_SAMPLES && kg_next_line(&samples, end, &line)) {
        if (line.n == 0) continue;
        if (!read_sample(line.p, line.n, &l, &p->samples[p->n], &c)) continue;
        known += p->samples[p->n++].n > 0;
    }
    free(l.items);
    if (p->n < LEAST_SAMPLES || known < LEAST_KNOWN * (double)p->n) {
        free(p);
        return NULL;
    }
    say_facts(&c, f);
    return p;
}

static bool lies_in(const kg_sample *s, const kg_lines *where, size_t n) {
    for (uint32_t k = 0; k < s->n; k++)
        for (size_t i = 0; i < n; i++)
            if (s->lines[k].to >= where[i].from && s->lines[k].from <= where[i].to) return true;
    return false;
}

double kg_profile_share(const kg_profile *p, const kg_lines *where, size_t n) {
    double inside = 0, all = 0;
    for (size_t i = 0; i < p->n; i++) {
        all += p->samples[i].weight;
        inside += lies_in(&p->samples[i], where, n) ? p->samples[i].weight : 0;
    }
    return all > 0 ? inside / all : 0;
}

void kg_profile_free(kg_profile *p) { free(p); }
