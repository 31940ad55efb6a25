#include "task/singular.h"

#include <stdlib.h>

// ---- f of a matrix and its error --------------------------------------------------------------------------
static double derivative(const kg_spectrum *s, double x) { return s->inverse ? -1 / (x * x) : 1; }

// Squares of (dG)'_kl over E's deviation's, and of those of rows beyond the columns.
static void amplification(const kg_svd *d, const kg_spectrum *s, const double *f, kg_matrix *inside, double *beyond) {
    const int64_t n = d->cols;
    for (int64_t k = 0; k < n; k++) {
        beyond[k] = f[k] == 0 ? 0 : f[k] / d->s[k] * f[k] / d->s[k];
        for (int64_t l = 0; l < n; l++) {
            const double gap = d->s[k] - d->s[l], sum = d->s[k] + d->s[l];
            const bool close = fabs(gap) <= 1e-9 * sum;  // equal, as the pairs of a complex matrix's real form
            const double a = close ? (f[k] == 0 ? 0 : derivative(s, d->s[k])) : (f[k] - f[l]) / gap;
            const double b = f[k] + f[l] == 0 ? 0 : (f[k] + f[l]) / sum;
            KG_AT(inside, k, l) = (a * a + b * b) / 2;
        }
    }
}

static void value_and_error(const kg_svd *d, const kg_spectrum *s, const double *f, double e, kg_matrix *value,
                            kg_matrix *error) {
    const int64_t m = d->rows, n = d->cols;
    kg_matrix inside = kg_matrix_make(n, n), v2 = kg_matrix_make(n, n);
    double *beyond = kg_alloc((size_t)n * sizeof *beyond);
    amplification(d, s, f, &inside, beyond);
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < n; j++) KG_AT(&v2, k, j) = d->v[j * n + k] * d->v[j * n + k];
    kg_matrix t = kg_matrix_product(&inside, &v2);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double x = 0, squares = 0, rest = 1, outside = 0;
            for (int64_t k = 0; k < n; k++) {
                const double u = d->u[i * n + k];
                x += u * f[k] * d->v[j * n + k];
                squares += u * u * (double)KG_AT(&t, k, j);
                rest -= u * u;
                outside += beyond[k] * (double)KG_AT(&v2, k, j);
            }
            KG_AT(value, i, j) = x;
            KG_AT(error, i, j) = e * sqrt(squares + fmax(rest, 0) * outside);
        }
    free(beyond);
    kg_matrix_free(&inside);
    kg_matrix_free(&v2);
    kg_matrix_free(&t);
}

// Which singular values count; false where rounding may decide it otherwise.
static bool kept(const kg_svd *d, const kg_spectrum *s, int size, double e, double *f) {
    const double cut = s->above * d->s[0];
    bool certain = true;
    for (int64_t k = 0; k < d->cols; k++) {
        const bool keep = s->keep >= 0 ? k < size * s->keep : d->s[k] > cut;
        if (s->keep < 0 && fabs(d->s[k] - cut) < e && cut > 0) certain = false;
        if (keep && s->inverse && d->s[k] < 2 * e) certain = false;
        f[k] = keep ? (s->inverse ? 1 / d->s[k] : d->s[k]) : 0;
    }
    const int64_t last = size * s->keep;
    if (s->keep >= 0 && last < d->cols && d->s[last - 1] > 0 && d->s[last - 1] - d->s[last] < 2 * e) certain = false;
    return certain;
}

static void take_adjoint(kg_matrix *m) {
    kg_matrix t = kg_matrix_adjoint(m);
    kg_matrix_free(m);
    *m = t;
}

void kg_hold_spectrum(kg_holds *h, kg_dtype t, const kg_answer *answer, const kg_matrices *a, int64_t number,
                      const kg_spectrum *s) {
    kg_matrix m = kg_matrix_load(a, number);
    const bool wide = m.rows < m.cols;
    const int size = a->complex ? 2 : 1;
    if (wide) take_adjoint(&m);
    kg_svd d;
    if (kg_svd_of(&m, &d) == 0) {
        double *f = kg_alloc((size_t)d.cols * sizeof *f), u = kg_working_unit(h->task, t);
        kg_matrix value = kg_matrix_make(m.rows, m.cols), error = kg_matrix_make(m.rows, m.cols);
        const double e = kg_svd_error(m.cols) * (kg_dtype_part(t) == KG_F64 ? 2 : 1) * d.s[0];
        if (kept(&d, s, size, KG_SPREAD * u * e * sqrt((double)m.rows), f)) {
            value_and_error(&d, s, f, e, &value, &error);
            if (wide != s->inverse) take_adjoint(&value);
            if (wide != s->inverse) take_adjoint(&error);
            for (int o = 0; o < answer->n; o++)
                kg_hold_matrix(h, t, &answer->out[o], a->complex, number, &value, &error, "out");
        }
        free(f);
        kg_matrix_free(&value);
        kg_matrix_free(&error);
        kg_svd_free(&d);
    }
    kg_matrix_free(&m);
}

// Twelve steps of the power method, and what they may fall short by.
double kg_largest_singular(const kg_matrices *a, int64_t number) {
    const int64_t start = kg_matrices_start(a, number), n = a->cols, parts = a->complex ? 2 : 1;
    double *x = kg_alloc((size_t)(n + 1) * sizeof *x), *y = kg_alloc((size_t)(n + 1) * sizeof *y), size = 0,
           frobenius = 0;
    for (int64_t j = 0; j < n; j++) x[j] = 1 + (double)(j % 7) / 8;
    for (int step = 0; step < 12; step++) {
        double norm = 0;
        for (int64_t j = 0; j < n; j++) y[j] = 0;
        frobenius = 0;
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t p = 0; p < parts; p++) {
                double s = 0;
                const int64_t at = start + i * a->row_step + p;
                for (int64_t j = 0; j < n; j++) s += kg_at_offset(&a->v, at + j * a->col_step) * x[j];
                for (int64_t j = 0; j < n; j++) {
                    const double z = kg_at_offset(&a->v, at + j * a->col_step);
                    y[j] += z * s;
                    frobenius += z * z;
                }
            }
        for (int64_t j = 0; j < n; j++) norm += y[j] * y[j];
        norm = sqrt(norm);
        size = sqrt((double)parts * norm);
        for (int64_t j = 0; j < n && norm > 0; j++) x[j] = y[j] / norm;
    }
    free(x);
    free(y);
    return fmin(1.25 * size, sqrt(frobenius));
}

// ---- cases ----------------------------------------------------------------------------------------------------
kg_case *kg_singular_add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int n_batch, const int64_t *batch, int64_t m,
                         int64_t n) {
    int64_t shape[KG_MAX_NDIM];
    kg_case *c = kg_case_add(b);
    for (int d = 0; d < n_batch; d++) shape[d] = batch[d];
    shape[n_batch] = m;
    shape[n_batch + 1] = n;
    kg_set_tensor(
        c, b->task, "A", t, n_batch + 2, shape,
        kind == KG_FILL_RAISED ? kg_matrix_fill(kind, t, n) : (kg_fill){kind, kind == KG_FILL_CONST ? 1.5 : 0.1, 1});
    return c;
}
