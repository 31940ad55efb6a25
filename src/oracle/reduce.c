// Walking groups, sums and spreads. Error analysis: sum.c and moments.c.
#include "oracle/reduce.h"

#include <string.h>

#include "oracle/product.h"

enum { CHUNK = 1024 };

// ---- which elements ---------------------------------------------------------------------------------
int kg_reduced_dims(const kg_arg *dims, int ndim) {
    const int all = (1 << (ndim ? ndim : 1)) - 1;
    if (dims->none || dims->n == 0) return all;
    int mask = 0;
    for (int i = 0; i < dims->n; i++) {
        const int d = kg_wrap_dim(dims->ints[i], ndim);
        if (d < 0 || mask >> d & 1) return -1;
        mask |= 1 << d;
    }
    return mask;
}

kg_tensor kg_reduced_shape(const kg_tensor *t, int mask, bool keepdim, kg_dtype dtype) {
    int64_t shape[KG_MAX_NDIM];
    int n = 0;
    for (int d = 0; d < t->ndim; d++) {
        const bool reduced = mask >> d & 1;
        if (!reduced || keepdim) shape[n++] = reduced ? 1 : t->shape[d];
    }
    return kg_tensor_contiguous(dtype, n, shape);
}

// Appends a dimension, or widens the last one where the two are one run in memory.
static void append(int *n, int64_t *shapes, int64_t *strides, int64_t shape, int64_t stride) {
    if (*n > 0 && strides[*n - 1] == stride * shape) {
        shapes[*n - 1] *= shape;
        strides[*n - 1] = stride;
        return;
    }
    shapes[*n] = shape;
    strides[(*n)++] = stride;
}

kg_groups kg_groups_of(const kg_tensor *t, int mask) {
    kg_groups g = {.count = 1, .lines = 1};
    for (int d = 0; d < t->ndim; d++) {
        if (mask >> d & 1) {
            append(&g.n_in, g.in_shape, g.in_stride, t->shape[d], t->stride[d]);
            g.count *= t->shape[d];
        } else {
            append(&g.n_out, g.out_shape, g.out_stride, t->shape[d], t->stride[d]);
            g.lines *= t->shape[d];
        }
    }
    if (g.n_in == 0) append(&g.n_in, g.in_shape, g.in_stride, 1, 1);
    return g;
}

static int64_t offset_of(int n, const int64_t *shape, const int64_t *stride, int64_t index) {
    int64_t at = 0;
    for (int i = n - 1; i >= 0; i--) {
        at += index % shape[i] * stride[i];
        index /= shape[i];
    }
    return at;
}

int64_t kg_group_start(const kg_groups *g, int64_t line) {
    return offset_of(g->n_out, g->out_shape, g->out_stride, line);
}

void kg_group_each(const kg_view *v, const kg_groups *g, int64_t line, kg_chunk_fn f, void *ctx) {
    if (g->count == 0) return;
    double x[CHUNK];
    const int64_t start = kg_group_start(g, line);
    const int64_t run = g->in_shape[g->n_in - 1], step = g->in_stride[g->n_in - 1];
    for (int64_t r = 0; r < g->count / run; r++) {
        const int64_t at = start + offset_of(g->n_in - 1, g->in_shape, g->in_stride, r);
        for (int64_t k = 0; k < run; k += CHUNK) {
            const int64_t n = run - k < CHUNK ? run - k : CHUNK;
            kg_load_line(v, at + k * step, step, n, x, 1);
            f(x, n, ctx);
        }
    }
}

void kg_group_fold(const kg_view *v, const kg_groups *g, int64_t line, kg_chunk_fn f, void *ctx) {
    if (g->count == 0) return;
    int64_t at = kg_group_start(g, line);
    for (int d = 0; d < g->n_in; d++) at += (g->in_shape[d] - 1) * g->in_stride[d];
    const double last = kg_at_offset(v, at);
    if (isnan(last)) f(&last, 1, ctx);
    else kg_group_each(v, g, line, f, ctx);
}

// ---- sums -------------------------------------------------------------------------------------------
// Neumaier's compensated summation, as in sum.c.
static void add_exactly(kg_total *t, double x) {
    const double sum = t->s + x;
    if (isfinite(sum)) t->lo += fabs(t->s) >= fabs(x) ? (t->s - sum) + x : (x - sum) + t->s;
    t->s = sum;
}

void kg_total_add(kg_total *t, const double *x, int64_t n) {
    double s = t->s, q = t->square, partial = t->partial, largest = t->largest;
    kg_serial serial = t->serial;
    for (int64_t k = 0; k < n; k++) largest = fabs(x[k]) > largest ? fabs(x[k]) : largest;
    if (t->exact)
        for (int64_t k = 0; k < n; k++) {
            add_exactly(t, x[k]);
            q += x[k] * x[k];
            partial += t->s * t->s + q;
            t->serial.strayed = fmax(t->serial.strayed, fabs(t->lo));
            t->serial.lost += kg_lost(x[k], t->s, 0x1p-52);
        }
    else
        for (int64_t k = 0; k < n; k++) {
            s += x[k];
            q += x[k] * x[k];
            partial += s * s + q;
            kg_serial_add(&serial, x[k], s);
        }
    if (!t->exact) t->s = s, t->serial = serial;
    t->square = q;
    t->partial = partial;
    t->largest = largest;
    t->n += n;
}

double kg_total_value(const kg_total *t) { return t->s + t->lo; }
double kg_total_acc(const kg_total *t) {
    // Of float64 terms, t->s is the serial sum itself, and t->lo what it is off by.
    return t->n < 2 ? 0 : kg_acc_of(t->partial, &t->serial, t->exact ? 0x1p-53 : 0x1p-24);
}
double kg_total_local(const kg_total *t) { return 2 * sqrt(t->square) + t->largest; }

static void total_chunk(const double *x, int64_t n, void *ctx) { kg_total_add(ctx, x, n); }

kg_total kg_group_total(const kg_view *v, const kg_groups *g, int64_t line, bool exact) {
    kg_total t = {.exact = exact || v->desc.dtype == KG_F64};
    kg_group_fold(v, g, line, total_chunk, &t);
    return t;
}

// ---- mean and spread --------------------------------------------------------------------------------
typedef struct {
    double mean, rounding2;
    kg_total squares;
} deviations;

static void deviation_chunk(const double *x, int64_t n, void *ctx) {
    deviations *d = ctx;
    double square[CHUNK], rounding2 = 0;
    for (int64_t k = 0; k < n; k++) {
        const double e = x[k] - d->mean, size = fabs(d->mean) + fabs(e);
        square[k] = e * e;
        rounding2 += square[k] * size * size;
    }
    d->rounding2 += rounding2;
    kg_total_add(&d->squares, square, n);
}

kg_spread kg_group_spread(const kg_view *v, const kg_groups *g, int64_t line) {
    const bool f64 = v->desc.dtype == KG_F64;
    kg_spread r = {.n = g->count, .mean = NAN, .m2 = NAN, .u = f64 ? 0x1p-53 : 0x1p-24};
    if (g->count == 0) return r;
    const kg_total sum = kg_group_total(v, g, line, false);
    r.mean = kg_total_value(&sum) / (double)r.n;
    r.mean_acc = kg_total_acc(&sum) / (double)r.n + fabs(r.mean);
    deviations d = {.mean = r.mean, .squares.exact = f64};
    kg_group_fold(v, g, line, deviation_chunk, &d);
    r.m2 = kg_total_value(&d.squares);
    r.rounding = sqrt(d.rounding2);
    r.m2_acc = kg_total_acc(&d.squares) + 2 * KG_LAMBDA * r.rounding + kg_welford_acc(r.n, r.mean, r.m2);
    return r;
}

double kg_spread_variance_acc(const kg_spread *s, double dof) {
    return (s->m2_acc + (double)s->n * s->mean_acc * s->mean_acc * s->u) / dof;
}
