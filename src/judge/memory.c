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

static void drop(kg_trial *t, size_t i) {
    free(t->sizes.items[i].name);
    memmove(&t->sizes.items[i], &t->sizes.items[i + 1], (t->sizes.n - i - 1) * sizeof *t->sizes.items);
    t->sizes.n--;
}

// Candidate and baseline lie side by side, each with room for what it allocates itself (a result as large as the
// outputs), so a size takes three times its tensors.
static bool fits(const kg_trial *t, const kg_case *c) {
    return 3.0 * (double)one_slot(t, c) <= MEMORY_SHARE * (double)t->judge->info.free_bytes;
}

void kg_trial_choose_sizes(kg_trial *t) {
    for (size_t i = t->sizes.n; i-- > 0;) {
        const kg_case *c = &t->sizes.items[i];
        if (fits(t, c)) continue;
        char *why = kg_format("needs %.1f GB, %.1f GB are free", 3.0 * (double)one_slot(t, c) / 1e9,
                              (double)t->judge->info.free_bytes / 1e9);
        json_array_append_new(t->not_timed, json_pack("{s:s,s:s}", "case", c->name, "why", why));
        free(why);
        drop(t, i);
    }
    if (t->judge->o.full || t->sizes.n <= QUICK_SIZES) return;
    // A quick run keeps sizes spread over the sweep, the largest among them.
    size_t n = t->sizes.n;
    bool keep[4096] = {false};
    if (n > sizeof keep) return;
    for (size_t k = 0; k < QUICK_SIZES; k++) keep[n - 1 - k * (n - 1) / (QUICK_SIZES - 1)] = true;
    for (size_t i = n; i-- > 0;)
        if (!keep[i]) drop(t, i);
}
