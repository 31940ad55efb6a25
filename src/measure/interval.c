// Intervals by resampling whole batches.
//
// Calls of one batch share whatever the machine did in that moment, so they are not independent; batches, measured
// apart and in turn with the baseline's, nearly are. Each batch is summed up by the median of its calls. The statistic
// is a median over batches, or a mean of logarithms of such medians over sizes; its interval is the 2.5 % to 97.5 %
// range over 400 resamplings of the batches (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13),
// widened for the small number of batches by the ratio of Student's t quantile to the normal one.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "measure/measure.h"

#define RESAMPLES 400

// Medians of the batches of one side, in order.
typedef struct {
    double *v;
    size_t n;
} batches;

static batches summarise(const kg_samples *s) {
    batches b = {kg_alloc((s->n + 1) * sizeof(double)), 0};
    for (size_t first = 0; first < s->n;) {
        size_t last = first;
        while (last < s->n && s->batch[last] == s->batch[first]) last++;
        b.v[b.n++] = kg_median(s->v + first, last - first);
        first = last;
    }
    return b;
}

// One size: log of base/cand per pair of batches, or of fixed/cand when there is no baseline.
typedef struct {
    double *log_ratio;
    size_t n;
} pairs;

static pairs pair_up(const kg_samples *base, double fixed, const kg_samples *cand) {
    batches c = summarise(cand), b = {0};
    pairs p = {0};
    if (base) b = summarise(base);
    p.n = base && b.n < c.n ? b.n : c.n;
    p.log_ratio = kg_alloc((p.n + 1) * sizeof(double));
    for (size_t i = 0; i < p.n; i++) {
        double over = base ? b.v[i] : fixed;
        p.log_ratio[i] = c.v[i] > 0 && over > 0 ? log(over / c.v[i]) : 0;
    }
    free(b.v);
    free(c.v);
    return p;
}

// SplitMix64: a fixed generator, so that the same samples give the same interval.
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double resampled_median(const pairs *p, uint64_t *state, double *room) {
    for (size_t i = 0; i < p->n; i++) room[i] = p->log_ratio[next(state) % p->n];
    return kg_median(room, p->n);
}

// t(0.975, n-1) / 1.96 for n batches: resampling few batches is too sure of itself.
static double widening(size_t n) {
    static const double t[] = {0, 6.5, 2.20, 1.62, 1.42, 1.31, 1.25, 1.21, 1.18, 1.15, 1.14};
    return n == 0 ? 1 : n < sizeof t / sizeof *t ? t[n - 1 ? n - 1 : 1] : 1 + 1.3 / (double)n;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static kg_interval log_interval(const pairs *p, size_t sizes) {
    kg_interval none = {NAN, NAN, NAN};
    size_t most = 0, least = SIZE_MAX;
    for (size_t i = 0; i < sizes; i++) {
        if (p[i].n > most) most = p[i].n;
        if (p[i].n < least) least = p[i].n;
    }
    if (sizes == 0 || least == 0) return none;
    double mid = 0, sums[RESAMPLES];
    for (size_t i = 0; i < sizes; i++) mid += kg_median(p[i].log_ratio, p[i].n);
    mid /= (double)sizes;
    double *room = kg_alloc(most * sizeof *room);
    uint64_t state = 0x6b67617465u;
    for (int k = 0; k < RESAMPLES; k++) {
        sums[k] = 0;
        for (size_t i = 0; i < sizes; i++) sums[k] += resampled_median(&p[i], &state, room);
        sums[k] /= (double)sizes;
    }
    free(room);
    qsort(sums, RESAMPLES, sizeof *sums, ascending);
    double w = widening(least), lo = mid + w * (sums[RESAMPLES / 40] - mid),
           hi = mid + w * (sums[RESAMPLES - 1 - RESAMPLES / 40] - mid);
    return (kg_interval){exp(mid), exp(lo < mid ? lo : mid), exp(hi > mid ? hi : mid)};
}

static kg_interval over_sizes(const kg_samples *const *base, const double *fixed, const kg_samples *const *cand,
                              size_t n) {
    pairs *p = kg_alloc((n + 1) * sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = pair_up(base ? base[i] : NULL, fixed ? fixed[i] : 1, cand[i]);
    kg_interval r = log_interval(p, n);
    for (size_t i = 0; i < n; i++) free(p[i].log_ratio);
    free(p);
    return r;
}

kg_interval kg_median_interval(const kg_samples *s) {
    kg_interval inverse = over_sizes(NULL, NULL, &s, 1);
    return (kg_interval){1 / inverse.mid, 1 / inverse.hi, 1 / inverse.lo};
}

kg_interval kg_widened(kg_interval i, double by) { return (kg_interval){i.mid, i.lo * (1 - by), i.hi * (1 + by)}; }

kg_interval kg_ratio_interval(const kg_samples *base, const kg_samples *cand) {
    return over_sizes(&base, NULL, &cand, 1);
}

kg_interval kg_geomean_interval(const kg_samples *const *base, const kg_samples *const *cand, size_t cases) {
    return over_sizes(base, NULL, cand, cases);
}

kg_interval kg_geomean_fixed(const double *sol, const kg_samples *const *cand, size_t cases) {
    return over_sizes(NULL, sol, cand, cases);
}
