// Bounds. A product of k Householder reflections or rotations, applied in floating point to a column x, is an exact
// orthogonal transformation of x + e, where ||e|| <= c k u ||x|| at worst (Higham, Accuracy and Stability, 2nd ed.,
// lemmas 19.3 and 19.9). Each transformation rounds every element about twice, independently: k of them walk at random,
// so that ||e|| grows with sqrt(k) (Connolly and Higham, "Probabilistic rounding error analysis of Householder QR
// factorization", SIMAX 44, 2023). The norms and dot products that a reflection is made of are sums of up to m terms,
// which add sqrt(m) once to a column, along the reflection it defines, and little where a column meets it at random.
// So ||e|| <= 8 (1 + sqrt(m) + sqrt(n)) u ||x||, with the 8 of sum.c. Plain float kernels stay below a third of it.
//
// The judge's own products are serial fp64 sums, whose error is at most an eighth of what such a bound allows fp64
// kernels, and nothing beside float32's.
#include "oracle/decompositions.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

#define WHOLE   ((int64_t)1 << 22)  // multiplications up to which every column is looked at
#define COLUMNS 16                  // how many else
#define POWER   24                  // steps of the power method

// ---- one matrix of a batch ----------------------------------------------------------------------------
int64_t kg_factor_count(const kg_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim - 2; d++) n *= t->shape[d];
    return n;
}

kg_factor kg_factor_of(const kg_view *v, const kg_tensor *desc, int64_t which) {
    const int d = desc->ndim - 2;
    kg_factor m = {.v = v,
                   .part = kg_dtype_part(desc->dtype),
                   .is_complex = kg_dtype_is_complex(desc->dtype),
                   .rows = desc->shape[d],
                   .cols = desc->shape[d + 1],
                   .row_step = v->desc.stride[d],
                   .col_step = v->desc.stride[d + 1]};
    for (int i = d - 1; i >= 0; i--) {
        m.at += which % desc->shape[i] * v->desc.stride[i];
        which /= desc->shape[i];
    }
    return m;
}

kg_factor kg_factor_adjoint(const kg_factor *m) {
    kg_factor a = *m;
    a.rows = m->cols;
    a.cols = m->rows;
    a.row_step = m->col_step;
    a.col_step = m->row_step;
    a.conjugate = !m->conjugate;
    return a;
}

static double square(kg_complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

double kg_factor_norm(const kg_factor *m) {
    double s = 0;
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) s += square(kg_factor_get(m, i, j));
    return sqrt(s);
}

bool kg_factor_has_nan(const kg_factor *m) { return isnan(kg_factor_norm(m)); }

static double panel_norm(const kg_panel *p) {
    double s = 0;
    for (int64_t i = 0; i < p->n * p->s; i++) s += square(p->x[i]);
    return sqrt(s);
}

double kg_factor_norm2(const kg_factor *m) {
    const kg_factor adjoint = kg_factor_adjoint(m);
    kg_panel x, y;
    double norm = 0;
    if (kg_panel_make(&x, m->cols, 1)) return NAN;
    for (int64_t i = 0; i < x.n; i++) x.x[i] = 1 + 0.5 * sin((double)(7 * i + 1));
    for (int step = 0; step < POWER; step++) {
        const double length = panel_norm(&x);
        for (int64_t i = 0; i < x.n; i++) x.x[i] /= length > 0 ? length : 1;
        if (kg_panel_times(m, &x, &y)) break;
        norm = panel_norm(&y);
        kg_panel_free(&x);
        const int failed = kg_panel_times(&adjoint, &y, &x);
        kg_panel_free(&y);
        if (failed) return NAN;
    }
    kg_panel_free(&x);
    return norm;
}

// ---- products with a panel of vectors ------------------------------------------------------------------
int kg_panel_make(kg_panel *p, int64_t n, int64_t s) {
    *p = (kg_panel){n, s, calloc((size_t)(n * s) + 1, sizeof *p->x)};
    return p->x ? 0 : -1;
}

void kg_panel_free(kg_panel *p) {
    free(p->x);
    *p = (kg_panel){0};
}

typedef struct {
    const kg_factor *m;
    const kg_panel *x;
    kg_panel *y;
} product;

// y[c] += a x[c], without C's care for infinite complex factors.
static void add_multiple(kg_complex a, const kg_complex *x, int64_t s, kg_complex *y) {
    const double re = creal(a), im = cimag(a), *from = (const double *)x;
    double *to = (double *)y;
    if (im == 0) {
        for (int64_t c = 0; c < 2 * s; c++) to[c] += re * from[c];
        return;
    }
    for (int64_t c = 0; c < s; c++) {
        to[2 * c] += re * from[2 * c] - im * from[2 * c + 1];
        to[2 * c + 1] += re * from[2 * c + 1] + im * from[2 * c];
    }
}

static int rows_times(size_t first, size_t last, void *ctx) {
    const product *p = ctx;
    const int64_t s = p->x->s;
    for (int64_t i = (int64_t)first; i < (int64_t)last; i++)
        for (int64_t j = 0; j < p->m->cols; j++)
            add_multiple(kg_factor_get(p->m, i, j), p->x->x + j * s, s, p->y->x + i * s);
    return 0;
}

int kg_panel_times(const kg_factor *m, const kg_panel *x, kg_panel *y) {
    if (kg_panel_make(y, m->rows, x->s)) return -1;
    product p = {m, x, y};
    const int64_t work = m->rows * m->cols * x->s;
    kg_parallel((size_t)m->rows, work > WHOLE ? 32 : (size_t)m->rows + 1, rows_times, &p);
    return 0;
}

int kg_panel_times2(const kg_factor *a, const kg_factor *b, const kg_panel *x, kg_panel *y) {
    kg_panel bx;
    if (kg_panel_times(b, x, &bx)) return -1;
    const int failed = kg_panel_times(a, &bx, y);
    kg_panel_free(&bx);
    return failed;
}

void kg_panel_subtract(kg_panel *y, const kg_panel *from) {
    for (int64_t i = 0; i < y->n * y->s; i++) y->x[i] = from->x[i] - y->x[i];
}

// FNV-1a over all numbers of the answer.
static uint64_t hash_of(const kg_answer *a) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int o = 0; o < a->n; o++) {
        const size_t bytes = a->out[o].data ? kg_span_bytes(&a->out[o].desc) : 0;
        for (size_t i = 0; i + 4 <= bytes; i += 4) {
            uint32_t word;
            memcpy(&word, (const char *)a->out[o].data + i, 4);
            hash = (hash ^ word) * 0x100000001b3u;
        }
    }
    return hash;
}

int kg_sketch_make(kg_sketch *k, int64_t n, int64_t rows, const kg_answer *a) {
    const bool whole = n * n * rows <= WHOLE || n <= COLUMNS;
    const int64_t s = whole ? n : COLUMNS;
    const uint64_t key = whole ? 0 : hash_of(a);
    k->group = s ? (n + s - 1) / s : 1;
    if (kg_panel_make(&k->x, n, s)) return -1;
    for (int64_t i = 0; i < n; i++)
        k->x.x[i * s + i % s] = !whole && (kg_philox4x32(key, (uint64_t)i, 0).v[0] & 1) ? -1 : 1;
    return 0;
}

// ---- what must hold ---------------------------------------------------------------------------------------
double kg_orthogonal_growth(int64_t m, int64_t n) { return 8 * (1 + sqrt((double)m) + sqrt((double)n)); }

// Q = Q0 + D with Q0 exactly orthonormal and columns of D at most growth u long: |Q^H Q - I| <= 2 growth u in every
// element. A sum of `group` of them with random signs: 8 sqrt(group) times that.
int kg_hold_orthonormal(kg_holds *h, const kg_answer *a, const kg_factor *q, double growth, const char *name) {
    const kg_factor adjoint = kg_factor_adjoint(q);
    kg_sketch k;
    kg_panel y;
    if (kg_sketch_make(&k, q->cols, q->rows, a)) return -1;
    const int failed = kg_panel_times2(&adjoint, q, &k.x, &y);
    const double bound = 2 * growth * (k.group > 1 ? 8 * sqrt((double)k.group) : 1);
    for (int64_t i = 0; !failed && i < y.n; i++)
        for (int64_t c = 0; c < y.s; c++) {
            const kg_complex e = y.x[i * y.s + c] - k.x.x[i * y.s + c];
            kg_hold(h, q->part, cabs(e), 0, bound, 0, "%s: |its Gram matrix - 1| at [%lld,%lld]", name, (long long)i,
                    (long long)c);
        }
    if (!failed) kg_panel_free(&y);
    kg_panel_free(&k.x);
    return failed;
}

void kg_hold_triangle(kg_holds *h, const kg_factor *m, bool upper, const char *name) {
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = upper ? 0 : i + 1; j < (upper ? (i < m->cols ? i : m->cols) : m->cols); j++)
            if (kg_factor_get(m, i, j) != 0)
                kg_hold_true(h, false, "%s[%lld,%lld] is %g, where the triangle has 0", name, (long long)i,
                             (long long)j, creal(kg_factor_get(m, i, j)));
}

void kg_hold_columns(kg_holds *h, kg_dtype part, const kg_panel *error, int64_t group, double growth,
                     const double *size, const char *name) {
    for (int64_t c = 0; c < error->s; c++) {
        double s = 0;
        for (int64_t i = 0; i < error->n; i++) s += square(error->x[i * error->s + c]);
        kg_hold(h, part, sqrt(s), 0, growth * size[c] * (group > 1 ? 4 : 1), 0, "%s: length of column %lld", name,
                (long long)c);
    }
}
