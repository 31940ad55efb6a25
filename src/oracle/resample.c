// Interpolation by taps, with its error analysis.
//
// Weights are functions of the fraction t of a position, so a position that is off by e moves a weight by |w'(t)| e;
// and they round. Linear: |w'| = 1 and one subtraction. Where t is 0 or 1 but for e, a kernel may be on the other side
// of the integer: the next element's weight there is at most e, so it is a tap of weight 0 with that error. Cubic
// weights are cubic polynomials by Horner's scheme: on [1, 2], a (x^3 - 5 x^2 + 8 x - 4) cancels steps of up to 6,
// whose roundings add up to 30 u at 2, where nothing else is left; on [0, 1] to 16 u at most. Their derivative is
// continuous, so no tap need be added.
//
// value = sum over taps of x prod_d w_d. local = sum of |x| (sum_d e_d prod_other |w| + KG_LAMBDA prod |w|): the
// products and partial sums of at most 64 terms, added dimension by dimension, round 3 + 3 + 3 times on the way.
#include "oracle/resample.h"

enum { LINEAR_ROUNDINGS = 1, CUBIC_ROUNDINGS = 16, OUTER_ROUNDINGS = 30 };

static void add(kg_taps *t, int64_t at, double weight, double error) {
    t->at[t->n] = at;
    t->weight[t->n] = weight;
    t->error[t->n++] = error;
}

kg_taps kg_taps_linear(kg_position p) {
    const double first = floor(p.at), t = p.at - first, error = p.error + LINEAR_ROUNDINGS;
    kg_taps r = {0};
    if (t < p.slack) add(&r, (int64_t)first - 1, 0, error);
    add(&r, (int64_t)first, 1 - t, error);
    add(&r, (int64_t)first + 1, t, error);
    if (1 - t < p.slack) add(&r, (int64_t)first + 2, 0, error);
    return r;
}

// Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans. ASSP 29, 1981, equation (15).
#define KEYS_A -0.75
static double keys(double x, double *slope) {
    const double a = KEYS_A, s = fabs(x);
    *slope = s < 1 ? (3 * (a + 2) * s - 2 * (a + 3)) * s : (3 * a * s - 10 * a) * s + 8 * a;
    return s < 1 ? ((a + 2) * s - (a + 3)) * s * s + 1 : ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
}

kg_taps kg_taps_cubic(kg_position p) {
    const double first = floor(p.at), t = p.at - first;
    kg_taps r = {0};
    for (int k = -1; k <= 2; k++) {
        double slope;
        const double w = keys(t - k, &slope);
        const int roundings = k < 0 || k > 1 ? OUTER_ROUNDINGS : CUBIC_ROUNDINGS;
        add(&r, (int64_t)first + k, w, fabs(slope) * p.error + roundings);
    }
    return r;
}

kg_taps kg_taps_floor(double at, double slack) {
    const double first = floor(at);
    kg_taps r = {0};
    add(&r, (int64_t)first, 1, 0);
    if (at - first < slack) add(&r, (int64_t)first - 1, 1, 0);
    if (first + 1 - at < slack) add(&r, (int64_t)first + 1, 1, 0);
    return r;
}

void kg_taps_clamp(kg_taps *t, int64_t n) {
    for (int k = 0; k < t->n; k++) t->at[k] = t->at[k] < 0 ? 0 : t->at[k] >= n ? n - 1 : t->at[k];
}

void kg_taps_drop(kg_taps *t, int64_t n) {
    for (int k = 0; k < t->n; k++)
        if (t->at[k] < 0 || t->at[k] >= n) t->at[k] = -1;
}

// ---- walking all combinations -------------------------------------------------------------------------
typedef struct {
    double x, weight, error;  // the element; the product of the weights, and what it is off by
} combined;

static int64_t combinations(int dims, const kg_taps *taps) {
    int64_t n = 1;
    for (int d = 0; d < dims; d++) n *= taps[d].n;
    return n;
}

static combined combine(const kg_view *v, int64_t start, int dims, const kg_taps *taps, int64_t which) {
    combined c = {.weight = 1};
    bool there = true;
    for (int d = dims - 1; d >= 0; d--) {
        const kg_taps *t = &taps[d];
        const int k = (int)(which % t->n);
        which /= t->n;
        there = there && t->at[k] >= 0;
        start += t->at[k] * v->desc.stride[v->desc.ndim - dims + d];
        c.error = c.error * fabs(t->weight[k]) + fabs(c.weight) * t->error[k];
        c.weight *= t->weight[k];
    }
    c.x = there ? kg_at_offset(v, start) : 0;
    return c;
}

kg_weighted kg_taps_weighted(const kg_view *v, int64_t start, int dims, const kg_taps *taps) {
    kg_weighted p = {0};
    const int64_t n = combinations(dims, taps);
    for (int64_t k = 0; k < n; k++) {
        const combined c = combine(v, start, dims, taps, k);
        p.value += c.x * c.weight;
        p.local += fabs(c.x) * c.error;
        p.magnitude += fabs(c.x * c.weight);
    }
    p.local += KG_LAMBDA * p.magnitude;
    return p;
}

kg_point kg_taps_picked(const kg_view *v, int64_t start, int dims, const kg_taps *taps) {
    const int64_t n = combinations(dims, taps);
    double least = INFINITY, most = -INFINITY, first = 0;
    bool finite = true;
    for (int64_t k = 0; k < n; k++) {
        const double x = combine(v, start, dims, taps, k).x;
        if (k == 0) first = x;
        least = fmin(least, x), most = fmax(most, x);
        finite = finite && isfinite(x);
    }
    if (n > 1 && !finite) return (kg_point){first, KG_ANY_ANSWER};  // no bound holds a number and an infinity
    if (n == 1 || !(most > least)) return kg_point_exact(first);
    // A little more than half, for the rounding of the middle; integers allow the distance itself.
    const double half = most / 2 - least / 2, u = kg_dtype_unit(v->desc.dtype);
    return (kg_point){least / 2 + most / 2, u > 0 ? half * (1 + u) / u : half};
}
