#include "oracle/matrices.h"

#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <complex.h>
#undef complex  // a name of ours

kg_matrix kg_matrix_make(int64_t rows, int64_t cols) {
    return (kg_matrix){rows, cols, kg_alloc((size_t)(rows * cols + 1) * sizeof(long double))};
}
void kg_matrix_free(kg_matrix *m) {
    free(m->at);
    m->at = NULL;
}

bool kg_matrix_has_nan(const kg_matrix *m) {
    for (int64_t i = 0; i < m->rows * m->cols; i++)
        if (isnan(m->at[i])) return true;
    return false;
}

// ---- batches --------------------------------------------------------------------------------------------
kg_matrices kg_matrices_of(const kg_view *v, bool complex, int own) {
    kg_matrices b = {.v = *v, .complex = complex, .cols = 1, .count = 1};
    const int last = v->desc.ndim - 1 - (complex ? 1 : 0);
    b.n_batch = last + 1 - own;
    b.rows = v->desc.shape[b.n_batch];
    b.row_step = v->desc.stride[b.n_batch];
    if (own == 2) {
        b.cols = v->desc.shape[last];
        b.col_step = v->desc.stride[last];
    }
    for (int d = 0; d < b.n_batch; d++) {
        b.batch[d] = v->desc.shape[d];
        b.batch_step[d] = v->desc.stride[d];
        b.count *= b.batch[d];
    }
    return b;
}

kg_matrices kg_matrices_like(const kg_view *v, bool complex, int own, const kg_tensor *like, int like_own) {
    kg_matrices b = kg_matrices_of(v, complex, own), r = b;
    r.n_batch = like->ndim - like_own;
    r.count = 1;
    for (int d = r.n_batch - 1, k = b.n_batch - 1; d >= 0; d--, k--) {
        r.batch[d] = like->shape[d];
        r.batch_step[d] = k >= 0 && b.batch[k] != 1 ? b.batch_step[k] : 0;
        r.count *= r.batch[d];
    }
    return r;
}

int64_t kg_matrices_start(const kg_matrices *b, int64_t number) {
    int64_t at = 0;
    for (int d = b->n_batch - 1; d >= 0; d--) {
        at += number % b->batch[d] * b->batch_step[d];
        number /= b->batch[d];
    }
    return at;
}

static kg_matrix load(const kg_matrices *b, int64_t number, bool transposed) {
    const int64_t rows = transposed ? b->cols : b->rows, cols = transposed ? b->rows : b->cols;
    const int64_t row_step = transposed ? b->col_step : b->row_step, col_step = transposed ? b->row_step : b->col_step;
    const int64_t start = kg_matrices_start(b, number), size = b->complex ? 2 : 1;
    kg_matrix m = kg_matrix_make(size * rows, size * cols);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            const int64_t at = start + i * row_step + j * col_step;
            KG_AT(&m, size * i, size * j) = kg_at_offset(&b->v, at);
            if (!b->complex) continue;
            KG_AT(&m, 2 * i + 1, 2 * j + 1) = kg_at_offset(&b->v, at);
            KG_AT(&m, 2 * i + 1, 2 * j) = kg_at_offset(&b->v, at + 1);
            KG_AT(&m, 2 * i, 2 * j + 1) = -kg_at_offset(&b->v, at + 1);
        }
    return m;
}
kg_matrix kg_matrix_load(const kg_matrices *b, int64_t number) { return load(b, number, false); }
kg_matrix kg_matrix_load_transposed(const kg_matrices *b, int64_t number) { return load(b, number, true); }

kg_matrix kg_matrix_product(const kg_matrix *a, const kg_matrix *b) {
    kg_matrix m = kg_matrix_make(a->rows, b->cols);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = 0; k < a->cols; k++) {
            const long double x = KG_AT(a, i, k);
            if (x == 0) continue;
            for (int64_t j = 0; j < b->cols; j++) KG_AT(&m, i, j) += x * KG_AT(b, k, j);
        }
    return m;
}

kg_matrix kg_matrix_adjoint(const kg_matrix *a) {
    kg_matrix m = kg_matrix_make(a->cols, a->rows);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->cols; j++) KG_AT(&m, j, i) = KG_AT(a, i, j);
    return m;
}

void kg_matrix_keep_triangle(kg_matrix *m, bool lower, int size) {
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++)
            if (lower ? i / size < j / size : i / size > j / size) KG_AT(m, i, j) = 0;
}

double kg_matrix_norm_bound(const kg_matrix *a) {
    double *column = kg_alloc((size_t)(a->cols + 1) * sizeof *column), squares = 0, row_most = 0, column_most = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        double row = 0;
        for (int64_t j = 0; j < a->cols; j++) {
            const double x = (double)fabsl(KG_AT(a, i, j));
            squares += x * x;
            row += x;
            column[j] += x;
        }
        row_most = fmax(row_most, row);
    }
    for (int64_t j = 0; j < a->cols; j++) column_most = fmax(column_most, column[j]);
    free(column);
    return fmin(sqrt(squares), sqrt(row_most * column_most));
}

// ---- elimination ----------------------------------------------------------------------------------------
static void swap_rows(kg_lu *f, int64_t i, int64_t k) {
    for (int64_t j = 0; j < f->n; j++) {
        const long double x = KG_AT(&f->lu, i, j);
        KG_AT(&f->lu, i, j) = KG_AT(&f->lu, k, j);
        KG_AT(&f->lu, k, j) = x;
    }
    const int64_t r = f->row[i];
    f->row[i] = f->row[k];
    f->row[k] = r;
    f->sign = -f->sign;
}

static void eliminate(kg_lu *f, bool pivot) {
    for (int64_t k = 0; k < f->n; k++) {
        int64_t most = k;
        for (int64_t i = k + 1; pivot && i < f->n; i++)
            if (fabsl(KG_AT(&f->lu, i, k)) > fabsl(KG_AT(&f->lu, most, k))) most = i;
        if (most != k) swap_rows(f, k, most);
        if (KG_AT(&f->lu, k, k) == 0) {
            f->singular = true;
            continue;
        }
        for (int64_t i = k + 1; i < f->n; i++) {
            long double *row = f->lu.at + i * f->n;
            const long double *top = f->lu.at + k * f->n;
            const long double l = row[k] /= top[k];
            if (l != 0)
                for (int64_t j = k + 1; j < f->n; j++) row[j] -= l * top[j];
        }
    }
}

// S: the squares of the running sums of the elimination and of what is subtracted, and of the columns' norms.
static void spread_of(kg_lu *f, const kg_matrix *a) {
    const int64_t n = f->n;
    double *run = kg_alloc((size_t)(3 * n + 1) * sizeof *run), *s = run + n, *norm = run + 2 * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) norm[j] += (double)(KG_AT(a, i, j) * KG_AT(a, i, j));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            run[j] = (double)KG_AT(a, f->row[i], j);
            s[j] = norm[j] + run[j] * run[j];
        }
        for (int64_t k = 0; k < i; k++) {
            const double l = (double)KG_AT(&f->lu, i, k);
            for (int64_t j = k; j < n; j++) {
                const double t = l * (double)KG_AT(&f->lu, k, j);
                run[j] -= t;
                s[j] += run[j] * run[j] + t * t;
            }
        }
        for (int64_t j = 0; j < n; j++) KG_AT(&f->spread, i, j) = s[j];
    }
    free(run);
}

kg_lu kg_lu_of(const kg_matrix *a, bool pivot) {
    const int64_t n = a->rows;
    kg_lu f = {.n = n, .sign = 1, .lu = kg_matrix_make(n, n), .spread = kg_matrix_make(n, n)};
    f.row = kg_alloc((size_t)(n + 1) * sizeof *f.row);
    memcpy(f.lu.at, a->at, (size_t)(n * n) * sizeof *a->at);
    for (int64_t i = 0; i < n; i++) f.row[i] = i;
    eliminate(&f, pivot);
    spread_of(&f, a);
    if (f.singular) {
        f.inverse = kg_matrix_make(n, n);
        f.condition = INFINITY;
        return f;
    }
    kg_matrix unit = kg_matrix_make(n, n);
    for (int64_t i = 0; i < n; i++) KG_AT(&unit, i, i) = 1;
    f.inverse = kg_lu_solve(&f, &unit);
    kg_matrix_free(&unit);
    double inverse = 0, spread = 0;
    for (int64_t i = 0; i < n * n; i++) {
        inverse += (double)(f.inverse.at[i] * f.inverse.at[i]);
        spread += (double)f.spread.at[i];
    }
    f.condition = sqrt(inverse * spread);
    return f;
}

void kg_lu_free(kg_lu *f) {
    kg_matrix_free(&f->lu);
    kg_matrix_free(&f->inverse);
    kg_matrix_free(&f->spread);
    free(f->row);
    f->row = NULL;
}

kg_matrix kg_lu_solve(const kg_lu *f, const kg_matrix *b) {
    kg_matrix x = kg_matrix_make(b->rows, b->cols);
    for (int64_t i = 0; i < f->n; i++) {
        for (int64_t j = 0; j < b->cols; j++) KG_AT(&x, i, j) = KG_AT(b, f->row[i], j);
        for (int64_t k = 0; k < i; k++)
            for (int64_t j = 0; j < b->cols; j++) KG_AT(&x, i, j) -= KG_AT(&f->lu, i, k) * KG_AT(&x, k, j);
    }
    for (int64_t i = f->n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < f->n; k++)
            for (int64_t j = 0; j < b->cols; j++) KG_AT(&x, i, j) -= KG_AT(&f->lu, i, k) * KG_AT(&x, k, j);
        for (int64_t j = 0; j < b->cols; j++) KG_AT(&x, i, j) /= KG_AT(&f->lu, i, i);
    }
    return x;
}

bool kg_lu_certain(const kg_lu *f, double u, double *scale) {
    const double size = KG_SPREAD * u * f->condition;
    *scale = 1 / (1 - size);
    return size < 0.5;
}

// The residual's deviation R in each row: dA x, and what the two triangular solves add, at most n roundings in each
// row's sums (theorem 8.5 for both factors), those of U x = y taken through L. Then A^-1 R.
void kg_lu_error(const kg_lu *f, const kg_matrix *x, const kg_matrix *b, int64_t j, double *error) {
    const int64_t n = f->n;
    double *solve = kg_alloc((size_t)(2 * n + 1) * sizeof *solve), *r = solve + n;
    for (int64_t k = 0; k < n; k++) {
        long double y = 0;
        for (int64_t c = k; c < n; c++) {
            const double t = (double)(KG_AT(&f->lu, k, c) * KG_AT(x, c, j));
            y += t;
            solve[k] += t * t;
        }
        const double rhs = (double)KG_AT(b, f->row[k], j);
        solve[k] = (double)n * (solve[k] + (double)(y * y) + rhs * rhs);
    }
    for (int64_t k = 0; k < n; k++) {
        r[k] = solve[k];
        for (int64_t c = 0; c < n; c++) r[k] += (double)(KG_AT(&f->spread, k, c) * KG_AT(x, c, j) * KG_AT(x, c, j));
        for (int64_t c = 0; c < k; c++) r[k] += (double)(KG_AT(&f->lu, k, c) * KG_AT(&f->lu, k, c)) * solve[c];
    }
    for (int64_t i = 0; i < n; i++) {
        double e = 0;
        for (int64_t k = 0; k < n; k++) {
            const double w = (double)KG_AT(&f->inverse, i, f->row[k]);
            e += w * w * r[k];
        }
        error[i] = sqrt(e);
    }
    free(solve);
}

// ---- Cholesky -------------------------------------------------------------------------------------------
static bool cholesky(const kg_matrix *a, kg_matrix *l) {
    const int64_t n = a->rows;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            long double s = KG_AT(a, i, j);
            for (int64_t k = 0; k < j; k++) s -= KG_AT(l, i, k) * KG_AT(l, j, k);
            if (i == j && !(s > 0)) return false;
            KG_AT(l, i, j) = i == j ? sqrtl(s) : s / KG_AT(l, j, j);
        }
    return true;
}

static kg_matrix lower_inverse(const kg_matrix *l) {
    const int64_t n = l->rows;
    kg_matrix m = kg_matrix_make(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            for (int64_t j = 0; j <= k; j++) KG_AT(&m, i, j) -= KG_AT(l, i, k) * KG_AT(&m, k, j);
        KG_AT(&m, i, i) += 1;
        for (int64_t j = 0; j <= i; j++) KG_AT(&m, i, j) /= KG_AT(l, i, i);
    }
    return m;
}

static void square(kg_matrix *m) {
    for (int64_t i = 0; i < m->rows * m->cols; i++) m->at[i] *= m->at[i];
}

// dL = L phi(L^-1 dA L^-T), phi the lower triangle with half the diagonal (Stewart, "On the perturbation of LU,
// Cholesky and QR factorizations", 1993); deviations by squares.
static kg_matrix cholesky_error(const kg_matrix *a, const kg_matrix *l) {
    kg_lu f = kg_lu_of(a, false);
    kg_matrix w = lower_inverse(l), squares = kg_matrix_make(l->rows, l->cols);
    memcpy(squares.at, l->at, (size_t)(l->rows * l->cols) * sizeof *l->at);
    square(&w);
    square(&squares);
    kg_matrix transposed = kg_matrix_adjoint(&w), left = kg_matrix_product(&w, &f.spread);
    kg_matrix m = kg_matrix_product(&left, &transposed);
    kg_matrix_keep_triangle(&m, true, 1);
    for (int64_t i = 0; i < m.rows; i++) KG_AT(&m, i, i) /= 4;
    kg_matrix e = kg_matrix_product(&squares, &m);
    for (int64_t i = 0; i < e.rows * e.cols; i++) e.at[i] = sqrtl(e.at[i]);
    kg_lu_free(&f);
    kg_matrix_free(&w);
    kg_matrix_free(&squares);
    kg_matrix_free(&transposed);
    kg_matrix_free(&left);
    kg_matrix_free(&m);
    return e;
}

bool kg_cholesky_of(const kg_matrix *a, kg_matrix *factor, kg_matrix *error) {
    *factor = kg_matrix_make(a->rows, a->cols);
    if (!cholesky(a, factor)) {
        *error = kg_matrix_make(a->rows, a->cols);
        return false;
    }
    *error = cholesky_error(a, factor);
    return true;
}

// ---- determinants ---------------------------------------------------------------------------------------
typedef long double _Complex scalar;

static scalar determinant(scalar *m, int64_t n, bool pivot) {
    scalar det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t most = k;
        for (int64_t i = k + 1; pivot && i < n; i++)
            if (cabsl(m[i * n + k]) > cabsl(m[most * n + k])) most = i;
        for (int64_t j = 0; most != k && j < n; j++) {
            const scalar x = m[k * n + j];
            m[k * n + j] = m[most * n + j];
            m[most * n + j] = x;
        }
        if (most != k) det = -det;
        det *= m[k * n + k];
        if (m[k * n + k] == 0) return 0;
        for (int64_t i = k + 1; i < n; i++) {
            const scalar l = m[i * n + k] / m[k * n + k];
            for (int64_t j = k + 1; j < n; j++) m[i * n + j] -= l * m[k * n + j];
        }
    }
    return det;
}

// d det = det tr(A^-1 dA), and one rounding for each factor of the product of pivots.
static double determinant_relative(const kg_lu *f) {
    double e = (double)f->n;
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t j = 0; j < f->n; j++) {
            const double w = (double)KG_AT(&f->inverse, j, f->row[i]);
            e += w * w * (double)KG_AT(&f->spread, i, j);
        }
    return sqrt(e);
}

// Near singularity: |det(A + E) - det A| <= prod(s_i + ||E||) - prod(s_i) (Ipsen and Rehman, "Perturbation bounds for
// determinants and characteristic polynomials", SIMAX 30, 2008, corollary 2.7). In units of KG_SPREAD u.
static double determinant_near(const kg_lu *f, const kg_matrix *a, int size, double u) {
    kg_svd d;
    if (kg_svd_of(a, &d)) return INFINITY;
    double spread = 0, with = 1, without = 1;
    for (int64_t i = 0; i < f->n * f->n; i++) spread += (double)f->spread.at[i];
    const double e = KG_SPREAD * u * sqrt(spread);
    for (int64_t i = 0; i < f->n; i += size) {
        with *= d.s[i] + e;
        without *= d.s[i];
    }
    kg_svd_free(&d);
    return (with - without) / (KG_SPREAD * u);
}

kg_determinant kg_determinant_of(const kg_matrices *b, int64_t number, bool pivot, double u) {
    const int64_t n = b->rows;
    const int size = b->complex ? 2 : 1;
    kg_matrix a = kg_matrix_load(b, number);
    if (kg_matrix_has_nan(&a)) {
        kg_matrix_free(&a);
        return (kg_determinant){NAN, NAN, 0};
    }
    scalar *m = kg_alloc((size_t)(n * n + 1) * sizeof *m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            m[i * n + j] = KG_AT(&a, size * i, size * j) + (b->complex ? KG_AT(&a, 2 * i + 1, 2 * j) * I : 0);
    const scalar det = determinant(m, n, pivot);
    kg_lu f = kg_lu_of(&a, pivot);
    double scale;
    kg_determinant r = {(double)creall(det), (double)cimagl(det), 0};
    if (kg_lu_certain(&f, u, &scale)) r.error = (double)cabsl(det) * determinant_relative(&f) * scale;
    else r.error = determinant_near(&f, &a, size, u);
    kg_lu_free(&f);
    kg_matrix_free(&a);
    free(m);
    return r;
}

// ---- by GSL -----------------------------------------------------------------------------------------------
static void do_not_abort(void) { gsl_set_error_handler_off(); }
static void quiet(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, do_not_abort);
}

int kg_svd_of(const kg_matrix *a, kg_svd *d) {
    const size_t m = (size_t)a->rows, n = (size_t)a->cols;
    *d = (kg_svd){a->rows, a->cols, kg_alloc((m * n + 1) * sizeof(double)), kg_alloc((n + 1) * sizeof(double)),
                  kg_alloc((n * n + 1) * sizeof(double))};
    for (size_t i = 0; i < m * n; i++) d->u[i] = (double)a->at[i];
    double *work = kg_alloc((n + 1) * sizeof *work);
    gsl_matrix_view u = gsl_matrix_view_array(d->u, m, n), v = gsl_matrix_view_array(d->v, n, n);
    gsl_vector_view s = gsl_vector_view_array(d->s, n), w = gsl_vector_view_array(work, n);
    quiet();
    const int failed = gsl_linalg_SV_decomp(&u.matrix, &v.matrix, &s.vector, &w.vector);
    free(work);
    if (!failed) return 0;
    kg_svd_free(d);
    return -1;
}
void kg_svd_free(kg_svd *d) {
    free(d->u);
    free(d->s);
    free(d->v);
    *d = (kg_svd){0};
}

static int invert_complex(const double *v, double *w, size_t n) {
    int sign;
    gsl_matrix_complex *lu = gsl_matrix_complex_alloc(n, n);
    gsl_permutation *p = gsl_permutation_alloc(n);
    memcpy(lu->data, v, 2 * n * n * sizeof *v);
    gsl_matrix_complex_view inverse = gsl_matrix_complex_view_array(w, n, n);
    const int failed =
        gsl_linalg_complex_LU_decomp(lu, p, &sign) || gsl_linalg_complex_LU_invert(lu, p, &inverse.matrix);
    gsl_permutation_free(p);
    gsl_matrix_complex_free(lu);
    return failed ? -1 : 0;
}

int kg_eigen_of(const kg_matrix *a, kg_eigen *e) {
    const size_t n = (size_t)a->rows;
    *e = (kg_eigen){a->rows, kg_alloc((2 * n + 1) * sizeof(double)), kg_alloc((2 * n * n + 1) * sizeof(double)),
                    kg_alloc((2 * n * n + 1) * sizeof(double))};
    double *copy = kg_alloc((n * n + 1) * sizeof *copy);
    for (size_t i = 0; i < n * n; i++) copy[i] = (double)a->at[i];
    gsl_matrix_view m = gsl_matrix_view_array(copy, n, n);
    gsl_vector_complex_view value = gsl_vector_complex_view_array(e->value, n);
    gsl_matrix_complex_view v = gsl_matrix_complex_view_array(e->v, n, n);
    quiet();
    gsl_eigen_nonsymmv_workspace *w = gsl_eigen_nonsymmv_alloc(n);
    int failed = gsl_eigen_nonsymmv(&m.matrix, &value.vector, &v.matrix, w);
    gsl_eigen_nonsymmv_free(w);
    failed = failed || invert_complex(e->v, e->w, n);
    free(copy);
    if (!failed) return 0;
    kg_eigen_free(e);
    return -1;
}
void kg_eigen_free(kg_eigen *e) {
    free(e->value);
    free(e->v);
    free(e->w);
    *e = (kg_eigen){0};
}

// ---- judging ------------------------------------------------------------------------------------------------
double kg_working_unit(const kg_task *t, kg_dtype d) {
    return kg_precision_unit(kg_required_precision(t, d), kg_dtype_part(d));
}

void kg_hold_matrix(kg_holds *h, kg_dtype t, const kg_view *out, bool complex, int64_t number, const kg_matrix *value,
                    const kg_matrix *error, const char *name) {
    const int64_t parts = complex ? 2 : 1, rows = value->rows / parts, cols = value->cols / parts;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            for (int64_t p = 0; p < parts; p++) {
                const double x = (double)KG_AT(value, parts * i + p, parts * j);
                const double e = (double)KG_AT(error, parts * i + p, parts * j);
                const int64_t at = ((number * rows + i) * cols + j) * parts + p;
                kg_hold(h, t, kg_at(out, at), x, KG_SPREAD * e + fabs(x), 0, "%s[%lld,%lld]%s of matrix %lld", name,
                        (long long)i, (long long)j, p ? ".imag" : "", (long long)number);
            }
}
