#include "oracle/chance.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/fourier.h"

// ---- counts ---------------------------------------------------------------------------------------------
void kg_hold_count(kg_holds *h, int64_t k, int64_t n, double least, double most, double alarm, const char *what) {
    if (n == 0) return;
    const unsigned count = (unsigned)k, all = (unsigned)n;
    const double few = least <= 0 ? 1 : gsl_cdf_binomial_P(count, fmin(least, 1), all);
    const double many = count == 0 ? 1 : most >= 1 ? 1 : gsl_cdf_binomial_Q(count - 1, fmax(most, 0), all);
    kg_hold_true(h, few >= alarm / 2 && many >= alarm / 2,
                 "%s: %lld of %lld, where %.6g are expected: probability below %.1g", what, (long long)k, (long long)n,
                 (least + most) / 2 * (double)n, alarm);
}

// ---- distribution -----------------------------------------------------------------------------------------
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// P(sup |F_n - F| > e) <= 2 exp(-2 n e^2) for every n and F (Massart, Annals of Probability 18, 1990).
void kg_hold_uniform(kg_holds *h, double *x, size_t n, double grid, const char *what) {
    if (n == 0) return;
    double worst = 0;
    qsort(x, n, sizeof *x, ascending);
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fmax((double)(i + 1) / (double)n - x[i], x[i] - (double)i / (double)n));
    kg_hold_below(h, worst, grid + sqrt(log(2 / KG_ALARM) / (2 * (double)n)),
                  "%s: largest distance from the uniform distribution, beyond chance at %.1g", what, KG_ALARM);
}

// ---- correlation ----------------------------------------------------------------------------------------
// The least t with exp(-t^2 / (2 (v + b t / 3))) <= alarm: Bernstein's inequality for sums of independent terms bounded
// by b, and Freedman's (Annals of Probability 3, 1975) for martingale differences: v bounds the sum of their variances.
static double bernstein(double v, double b, double alarm) {
    const double l = log(1 / alarm), half = b * l / 3;
    return half + sqrt(half * half + 2 * v * l);
}

// Given what came before, x[i] y[i + lag] has mean 0 and the variance x[i]^2 `variance`. The sum of x[i]^2 is itself
// held to be near known * variance.
static double limit(size_t known, double variance, double most, double alarm) {
    const double n = (double)known, b = most * most;
    const double squares = n * variance + bernstein(n * b * variance, b, alarm);
    return bernstein(variance * squares, b, alarm);
}

int kg_hold_uncorrelated(kg_holds *h, const double *x, const double *y, size_t n, size_t known, double variance,
                         double most, const char *what) {
    if (known < 2 || variance <= 0) return 0;
    size_t length, at = 0;
    double *r = kg_correlations(x, y ? y : x, n, &length);
    if (!r) return -1;
    const double t = limit(known, variance, most, KG_ALARM / (4 * (double)n + 1));
    for (size_t i = y ? 0 : 1; i < length; i++)
        if (i < n || (y && i > length - n)) at = fabs(r[i]) > fabs(r[at]) || (at == 0 && !y) ? i : at;
    const long long lag = at < n ? (long long)at : (long long)at - (long long)length;
    kg_hold_below(h, fabs(r[at]), t, "%s: correlation at distance %lld, beyond chance at %.1g", what, lag, KG_ALARM);
    free(r);
    return 0;
}

// ---- sums with terms dropped -------------------------------------------------------------------------------
// With X[i] the sums less their means, over the root of their proxy: E exp(t X^2) <= 1 / sqrt(1 - 2 t), as of a squared
// normal number, so P(sum X^2 >= n (1 + s)) <= exp(-n / 2 (s - log(1 + s))) (Chernoff). A sum of non-negative Y lies t
// below its mean with probability exp(-t^2 / (2 sum E Y^2)) at most (Maurer, JIPAM 4, 2003). Products X[i] X[i + 1]
// are, given the one, sub-Gaussian in the other.
void kg_hold_dropped_sums(kg_holds *h, const double *found, const double *slack, const kg_dropped_sum *expected,
                          size_t n, const char *what) {
    double sum = 0, spare = 0, farthest = 0, most2 = 0, least2 = 0, mean2 = 0, fourth = 0, product = 0,
           product_spare = 0;
    double before = 0, before_slack = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const kg_dropped_sum *e = &expected[i];
        kg_hold_true(h, found[i] >= e->least - slack[i] && found[i] <= e->most + slack[i],
                     "%s: a sum is %.9g, not between %.9g (all dropped that are above 0) and %.9g", what, found[i],
                     e->least, e->most);
        if (!(e->proxy > 0)) continue;
        const double by = 1 / sqrt(e->proxy), x = (found[i] - e->mean) * by, d = slack[i] * by;
        farthest = fmax(farthest, fabs(x) - d);
        sum += x, spare += d;
        most2 += fmax(0, fabs(x) - d) * fmax(0, fabs(x) - d), least2 += (fabs(x) + d) * (fabs(x) + d);
        mean2 += e->variance / e->proxy, fourth += e->fourth / (e->proxy * e->proxy);
        if (used++ % 2) {
            product += x * before;
            product_spare += d * fabs(before) + before_slack * (fabs(x) + d);
        }
        before = x, before_slack = d;
    }
    if (used == 0) return;
    kg_hold_below(h, farthest, sqrt(2 * log(2 * (double)used / KG_ALARM)),
                  "%s: farthest from its mean, in standard deviations at most, beyond chance at %.1g", what, KG_ALARM);
    const double l = log(2 / KG_ALARM), count = (double)used;
    kg_hold_below(h, fabs(sum), spare + sqrt(2 * count * l), "%s: mean, beyond chance at %.1g", what, KG_ALARM);
    // s - log(1 + s) >= s^2 / (2 (1 + s)) gives s = u + sqrt(u^2 + 2 u), u = 2 l / n.
    const double u = 2 * l / count, most = count * (1 + u + sqrt(u * u + 2 * u));
    kg_hold_below(h, most2, most, "%s: too wide a spread, beyond chance at %.1g", what, KG_ALARM);
    kg_hold_below(h, mean2 - least2, sqrt(2 * fourth * l), "%s: too narrow a spread, beyond chance at %.1g", what,
                  KG_ALARM);
    kg_hold_below(h, fabs(product), product_spare + sqrt(2 * most * l),
                  "%s: correlation of two that follow each other, beyond chance at %.1g", what, KG_ALARM);
}

// ---- a case's calls ---------------------------------------------------------------------------------------
uint64_t kg_chance_seed(const kg_answer *a) {
    return a->kept && *a->kept ? ((const kg_centred *)*a->kept)->seed : a->seed;
}

int kg_hold_independent(kg_holds *h, const kg_answer *a, kg_centred *x, double variance, double most,
                        const char *what) {
    kg_centred *before = a->kept ? *a->kept : NULL;
    int rc = kg_hold_uncorrelated(h, x->x, NULL, x->n, x->known, variance, most, what);
    if (!rc && before && before->n == x->n) {
        char *both = kg_format("%s of two calls", what);
        const size_t known = x->known < before->known ? x->known : before->known;
        rc = kg_hold_uncorrelated(h, before->x, x->x, x->n, known, variance, most, both);
        free(both);
    }
    x->seed = kg_chance_seed(a);
    free(before);
    if (a->kept) *a->kept = x;
    else free(x);
    return rc;
}

#define CELLS 16

static void pairs(kg_holds *h, const double *x, size_t n, double grid, const char *what) {
    int64_t count[CELLS][CELLS] = {{0}};
    for (size_t i = 0; i + 1 < n; i += 2) count[(int)(x[i] * CELLS)][(int)(x[i + 1] * CELLS)]++;
    const double side = 1.0 / CELLS, least = fmax(0, side - grid);  // of a cell, and what the grid adds or takes
    for (int i = 0; i < CELLS; i++)
        for (int k = 0; k < CELLS; k++)
            kg_hold_count(h, count[i][k], (int64_t)(n / 2), least * least, (side + grid) * (side + grid),
                          KG_ALARM / (CELLS * CELLS), what);
}

int kg_hold_uniform_calls(kg_holds *h, const kg_answer *a, const double *x, size_t n, double grid, const char *what) {
    kg_centred *c = malloc(sizeof *c + n * sizeof *c->x);
    if (!c) return -1;
    *c = (kg_centred){.n = n, .known = n};
    memcpy(c->x, x, n * sizeof *x);
    kg_hold_uniform(h, c->x, n, grid, what);
    char *cells = kg_format("%s: neighbours in one of %d cells", what, CELLS * CELLS);
    pairs(h, x, n, grid, cells);
    free(cells);
    for (size_t i = 0; i < n; i++) c->x[i] = x[i] - 0.5;
    return kg_hold_independent(h, a, c, 1.0 / 12, 0.5, what);
}

// ---- part of a long result --------------------------------------------------------------------------------
#define MOST_STARTS (3 + 64 + 2 * KG_MAX_NDIM)

typedef struct {
    int n;
    int64_t total, base, width;
    int64_t at[MOST_STARTS];
} starts;

// A window `distance` from the base, on whichever side there is room.
static void add_start(starts *s, int64_t distance) {
    const int64_t right = s->base + distance, left = s->base - distance;
    if (distance <= 0 || s->n == MOST_STARTS) return;
    if (right <= s->total - s->width) s->at[s->n++] = right;
    else if (left >= 0) s->at[s->n++] = left;
}

static int in_order(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int powers_below(int64_t n) {
    int k = 0;
    while (n >>= 1) k++;
    return k;
}

size_t kg_windows(const kg_tensor *shape, size_t want, uint64_t seed, int64_t **index) {
    starts s = {.total = kg_numel(shape)};
    const int64_t most = 3 + powers_below(s.total) + 2 * shape->ndim;
    s.width = (int64_t)want / most > 1 ? (int64_t)want / most : 1;
    if (s.width > s.total) s.width = s.total;
    const kg_philox r = kg_philox4x32(seed ^ 0x77696e646f77u, 0, 2);
    s.base = s.total ? (int64_t)(((uint64_t)r.v[0] << 31 ^ r.v[1]) % (uint64_t)(s.total - s.width + 1)) : 0;
    s.at[s.n++] = 0;
    s.at[s.n++] = s.total - s.width;
    s.at[s.n++] = s.base;
    for (int64_t d = 1; d < s.total; d *= 2)
        if (d >= s.width) add_start(&s, d);
    for (int64_t d = shape->ndim - 1, inner = 1; d >= 0; inner *= shape->shape[d--])
        if (inner > 1)
            for (int k = 1; k <= 2; k++) add_start(&s, k * inner);
    qsort(s.at, (size_t)s.n, sizeof *s.at, in_order);
    int64_t *to = malloc((size_t)(s.n * s.width) * sizeof *to + 1), next = 0;
    size_t n = 0;
    for (int i = 0; to && i < s.n; i++)
        for (int64_t k = s.at[i] > next ? s.at[i] : next; k < s.at[i] + s.width; k++, next = k) to[n++] = k;
    *index = to;
    return to ? n : 0;
}
