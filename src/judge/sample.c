#include "judge/sample.h"

#include <stdlib.h>

#include "base/base.h"

// Input elements touched in one check: a tenth of a second to a second of oracle work on one processor. For a look at a
// timed call, which repeats what was checked on the first, a twentieth: who leaves out enough to gain time leaves out
// more than some thousand elements drawn at random miss.
#define BUDGET      4e7
#define LOOK_BUDGET 2e6
#define MOST        8192
// Of outputs past 2^31 elements not all are computed either way, but a quarter of those that are lie behind it.
#define RUN 16  // a run shares its row's statistics, so it costs little more than one element

bool kg_sample_needed(int64_t total, double reach, kg_effort effort) {
    if (total > INT32_MAX) return true;
    return effort != KG_EFFORT_FULL && (double)total * reach > (effort == KG_EFFORT_LOOK ? LOOK_BUDGET : BUDGET);
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

size_t kg_sample_indices(int64_t total, double reach, uint64_t seed, int64_t **index) {
    double afford = BUDGET / (reach < 1 ? 1 : reach);
    // Where one row alone exceeds the budget (a linear layer feeding a normalisation), one run of one row is sampled.
    bool single = afford < 4;
    size_t want = afford > MOST ? MOST : single ? 1 : (size_t)afford;
    int64_t *v = malloc((want + 2 * RUN + 2) * sizeof *v);
    *index = v;
    if (!v) return 0;
    size_t n = 0;
    if (!single) {
        v[n++] = 0;
        v[n++] = total - 1;
    }
    for (uint64_t k = 0; n < want; k++) {
        kg_philox r = kg_philox4x32(seed ^ 0x5a3b1e0fu, k, 1);
        int64_t at = (int64_t)(((uint64_t)r.v[0] << 32 | r.v[1]) % (uint64_t)total);
        if (total > INT32_MAX && k % 4 == 0) at = INT32_MAX + at % (total - INT32_MAX);
        int64_t run = single || r.v[2] & 1 ? RUN : 1;
        for (int64_t i = 0; i < run && at + i < total && n < want + RUN; i++) v[n++] = at + i;
    }
    qsort(v, n, sizeof *v, ascending);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[kept - 1] != v[i]) v[kept++] = v[i];
    return kept;
}
