#include <stdlib.h>
#include <string.h>

#include "judge/layout.h"
#include "judge/trial.h"

// A session lays out several slots of small cases within this much, one slot of larger ones.
#define SLOTS_BYTES_CPU ((size_t)64 << 20)
#define SLOTS_BYTES_GPU ((size_t)192 << 20)
#define MOST_SLOTS      32
#define QUICK_SIZES     6
// Share of the free memory that candidate, baseline and their scratch may take together.
#define MEMORY_SHARE 0.8

static bool on_cpu(const kg_trial *t) { return strcmp(t->judge->info.kind, "cpu") == 0; }

static size_t one_slot(const kg_trial *t, const kg_case *c) {
    kg_layout l = kg_layout_make(t->task, c, 1, SIZE_MAX);
    return l.in_bytes + l.out_bytes;
}

size_t kg_trial_limit(const kg_trial *t, const kg_case *c) {
    size_t one = one_slot(t, c), several = on_cpu(t) ? SLOTS_BYTES_CPU : SLOTS_BYTES_GPU;
    return one > several ? one : several;
}

static void grow(const kg_trial *t, const kg_case *c, size_t *in, size_t *out) {
    kg_layout l = kg_layout_make(t->task, c, c->timed ? MOST_SLOTS : 1, kg_trial_limit(t, c));
    if (l.in_bytes > *in) *in = l.in_bytes;
    if (l.out_bytes > *out) *out = l.out_bytes;
}

void kg_trial_arena_bytes(const kg_trial *t, size_t *in_bytes, size_t *out_bytes) {
    *in_bytes = *out_bytes = 0;
    for (size_t i = 0; i < t->cases.n; i++) grow(t, &t->cases.items[i], in_bytes, out_bytes);
    for (size_t i = 0; i < t->sizes.n; i++) grow(t, &t->sizes.items[i], in_bytes, out_bytes);
}

static void drop(kg_cases *b, size_t i) {
    free(b->items[i].name);
    memmove(&b->items[i], &b->items[i + 1], (b->n - i - 1) * sizeof *b->items);
    b->n--;
}

// Of inputs whose few elements lie far apart the CPU has only the pages with one on them.
static double takes(const kg_trial *t, const kg_case *c, double copies) {
    double untouched = 0;
    for (int i = 0; on_cpu(t) && i < c->n_args; i++)
        if (t->task->params[i].role == KG_IN && kg_arg_is_tensor(&c->args[i]) && kg_is_sparse(&c->args[i].tensor))
            untouched += (double)kg_span_bytes(&c->args[i].tensor);
    return copies * ((double)one_slot(t, c) - untouched);
}

static bool fits(const kg_trial *t, const kg_case *c, double copies) {
    return takes(t, c, copies) <= MEMORY_SHARE * (double)t->judge->info.free_bytes;
}

void kg_trial_not_asked(json_t *list, const kg_case *c, char *why) {
    json_array_append_new(list, json_pack("{s:s,s:s}", "case", c->name, "why", why));
    free(why);
}

// Leaves out the cases that take `copies` times their tensors where that does not fit, and says so in `list`.
static void drop_what_does_not_fit(const kg_trial *t, kg_cases *b, bool large_only, double copies, json_t *list) {
    for (size_t i = b->n; i-- > 0;) {
        const kg_case *c = &b->items[i];
        if ((large_only && !kg_case_is_large(c)) || fits(t, c, copies)) continue;
        char *why = kg_format("needs %.1f GB, %.1f GB are free", takes(t, c, copies) / 1e9,
                              (double)t->judge->info.free_bytes / 1e9);
        kg_trial_not_asked(list, c, why);
        drop(b, i);
    }
}

// The tensors, the judge's own copy of the inputs, and a result that a candidate allocates itself.
void kg_trial_choose_cases(kg_trial *t) { drop_what_does_not_fit(t, &t->cases, true, 2, t->not_checked); }

// Candidate and baseline are timed in the same memory; each may allocate a result as large as the outputs besides, so a
// size takes up to three times its tensors.
void kg_trial_choose_sizes(kg_trial *t) {
    drop_what_does_not_fit(t, &t->sizes, false, 3, t->not_timed);
    if (t->judge->o.full || t->sizes.n <= QUICK_SIZES) return;
    // A quick run keeps sizes spread over the sweep, the largest among them.
    size_t n = t->sizes.n;
    bool keep[4096] = {false};
    if (n > sizeof keep) return;
    for (size_t k = 0; k < QUICK_SIZES; k++) keep[n - 1 - k * (n - 1) / (QUICK_SIZES - 1)] = true;
    for (size_t i = n; i-- > 0;)
        if (!keep[i]) drop(&t->sizes, i);
}
