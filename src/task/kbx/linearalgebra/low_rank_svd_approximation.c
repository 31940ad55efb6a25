// low_rank_svd_approximation(A, k, *, full_matrices=True, out=None) -> Tensor
//
// The k largest singular values of A (*, m, n) and their vectors: U_k diag(S_k) V_k^H, of A's shape, 1 <= k <= min(m,
// n). full_matrices chooses how much of U and V is computed and changes nothing in the result.
//
// Bound: src/task/singular.h; through the gap at k, s_k / (s_k - s_k+1) is what counts most. Large ones, X, by what
// tells A_k from all else (Eckart and Young, 1936), each within an error E of the decomposition:
//   rank    X W has k singular values above what E W gives, W being k + 8 columns of random signs;
//   part    (A - X) X^T w = 0 and (A - X)^T X w = 0: X is made of singular triplets of A. Here E leaves E X^T w,
//   without
//           the gap;
//   largest no singular value of A - X is above X's least: the power method finds none.
#include <gsl/gsl_eigen.h>
#include <stdlib.h>
#include <string.h>

#include "task/singular.h"

#define SMALL 96
#define EXTRA 8

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "k", .kind = KG_P_INT},
    {.name = "full_matrices", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, K, FULL };

// ---- cases --------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int64_t m, int64_t n, int64_t k) {
    kg_case *c = kg_singular_add(b, kind, t, 0, NULL, m, n);
    kg_set_int(c, b->task, "k", k);
    return c;
}
static void batch(kg_cases *b, kg_dtype t, int n_batch, const int64_t *shape, int64_t m, int64_t n, int64_t k) {
    kg_set_int(kg_singular_add(b, KG_FILL_NORMAL, t, n_batch, shape, m, n), b->task, "k", k);
}

static void some(kg_cases *b, kg_dtype t) {
    add(b, KG_FILL_NORMAL, t, 17, 17, 3);
    add(b, KG_FILL_NORMAL, t, 9, 20, 5);
    add(b, KG_FILL_NORMAL, t, 21, 6, 2);
    add(b, KG_FILL_NORMAL, t, 8, 8, 8);
    add(b, KG_FILL_NORMAL, t, 24, 11, 1)->args[A].tensor = kg_tensor_transposed(t, KG_SHAPE(24, 11), 0, 1);
    batch(b, t, KG_SHAPE(2, 3), 5, 4, 2);
}

static void few(kg_cases *b) {
    static const int64_t shapes[][3] = {{1, 1, 1},    {2, 2, 1},   {3, 3, 2},  {1, 7, 1}, {9, 1, 1},
                                        {33, 33, 10}, {64, 20, 7}, {5, 40, 4}, {4, 3, 1}};
    static const int64_t more[][3] = {{65, 65, 20}, {90, 30, 29}, {20, 91, 1}, {31, 32, 16}, {64, 64, 63}, {100, 2, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(b, KG_FILL_NORMAL, KG_F32, shapes[i][0], shapes[i][1], shapes[i][2]);
    some(b, KG_F32);
    some(b, KG_F64);
    some(b, KG_C64);
    add(b, KG_FILL_CONST, KG_F32, 6, 5, 1);
    add(b, KG_FILL_OUTLIERS, KG_F32, 20, 20, 4);
    kg_set_bool(add(b, KG_FILL_NORMAL, KG_F32, 18, 5, 3), b->task, "full_matrices", false);
    kg_set_bool(add(b, KG_FILL_NORMAL, KG_F32, 5, 18, 3), b->task, "full_matrices", true);
    kg_give_out(b, add(b, KG_FILL_NORMAL, KG_F32, 16, 7, 2));
    batch(b, KG_F32, KG_SHAPE(0), 3, 2, 1);
    batch(b, KG_F32, KG_SHAPE(11), 4, 3, 1);
    add(b, KG_FILL_NORMAL, KG_F64, 9, 6, 2)->args[A].fill = KG_WIDE_INTEGERS;
    if (b->level == KG_CASES_QUICK) return;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        add(b, KG_FILL_NORMAL, KG_F32, more[i][0], more[i][1], more[i][2]);
        add(b, KG_FILL_NORMAL, KG_F64, more[i][0], more[i][1], more[i][2]);
    }
    some(b, KG_C128);
    add(b, KG_FILL_NORMAL, KG_F32, 110, 100, 12);
    add(b, KG_FILL_NORMAL, KG_F64, 100, 110, 12);
    batch(b, KG_F32, KG_SHAPE(17), 6, 6, 3);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        few(b);
        return 0;
    }
    if (b->level == KG_TIMED_CPU) add(b, KG_FILL_NORMAL, KG_F32, 64, 64, 10);
    if (b->level == KG_TIMED_CPU) add(b, KG_FILL_NORMAL, KG_F32, 128, 128, 25);
    for (int64_t n = 256; n <= (b->level == KG_TIMED_CPU ? 0 : 1408); n += 128)
        add(b, KG_FILL_NORMAL, KG_F32, n, n, 50);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor;
    const int64_t k = c->args[K].i;
    if (a->ndim < 2 || k < 1 || k > a->shape[a->ndim - 1] || k > a->shape[a->ndim - 2]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, a->ndim, a->shape);
    return 0;
}

// ---- large ones -----------------------------------------------------------------------------------------
typedef struct {
    const double *at;  // rows x cols
    int64_t rows, cols;
} dense;

static double *dense_of(const kg_matrices *m) {
    double *d = kg_alloc((size_t)(m->rows * m->cols) * sizeof *d);
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++)
            d[i * m->cols + j] = kg_at_offset(&m->v, i * m->row_step + j * m->col_step);
    return d;
}
// y = M x, or M^T x.
static void times(const dense *m, bool transposed, const double *x, double *y) {
    memset(y, 0, (size_t)(transposed ? m->cols : m->rows) * sizeof *y);
    for (int64_t i = 0; i < m->rows; i++) {
        const double *row = m->at + i * m->cols;
        double s = 0;
        for (int64_t j = 0; j < m->cols; j++) {
            if (transposed) y[j] += row[j] * x[i];
            else s += row[j] * x[j];
        }
        if (!transposed) y[i] = s;
    }
}
static double length(const double *x, int64_t n) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i] * x[i];
    return sqrt(s);
}
static void signs(uint64_t key, double *w, int64_t n) {
    for (int64_t i = 0; i < n; i++) w[i] = kg_philox4x32(key, (uint64_t)i, 2).v[0] & 1 ? 1 : -1;
}

// The least of X's k singular values: those of Q^T X for an orthonormal basis Q of its range.
static double least_of(const dense *x, const kg_svd *range, int64_t k) {
    double *b = kg_alloc((size_t)(k * x->cols) * sizeof *b), least = INFINITY;
    gsl_matrix *gram = gsl_matrix_alloc((size_t)k, (size_t)k);
    gsl_vector *value = gsl_vector_alloc((size_t)k);
    gsl_eigen_symm_workspace *w = gsl_eigen_symm_alloc((size_t)k);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t c = 0; c < k; c++) {
            const double q = range->u[i * range->cols + c];
            for (int64_t j = 0; j < x->cols; j++) b[c * x->cols + j] += q * x->at[i * x->cols + j];
        }
    for (int64_t c = 0; c < k; c++)
        for (int64_t d = 0; d < k; d++) {
            double s = 0;
            for (int64_t j = 0; j < x->cols; j++) s += b[c * x->cols + j] * b[d * x->cols + j];
            gsl_matrix_set(gram, (size_t)c, (size_t)d, s);
        }
    gsl_eigen_symm(gram, value, w);
    for (size_t c = 0; c < (size_t)k; c++) least = fmin(least, gsl_vector_get(value, c));
    gsl_eigen_symm_free(w);
    gsl_vector_free(value);
    gsl_matrix_free(gram);
    free(b);
    return sqrt(fmax(least, 0));
}

static int hold_rank(const dense *x, int64_t k, double e, uint64_t key, kg_dtype t, kg_holds *h, double *least) {
    const int64_t width = k + EXTRA;
    double *w = kg_alloc((size_t)x->cols * sizeof *w), *y = kg_alloc((size_t)x->rows * sizeof *y);
    kg_matrix xw = kg_matrix_make(x->rows, width);
    for (int64_t c = 0; c < width; c++) {
        signs(key + (uint64_t)c, w, x->cols);
        times(x, false, w, y);
        for (int64_t i = 0; i < x->rows; i++) KG_AT(&xw, i, c) = y[i];
    }
    kg_svd range;
    const int failed = kg_svd_of(&xw, &range);
    if (!failed) {
        const double size = sqrt((double)x->cols) * (sqrt((double)x->rows) + sqrt((double)width));
        kg_hold(h, t, range.s[k], 0, KG_SPREAD * e * size, 0, "singular value %lld of X W", (long long)k + 1);
        *least = least_of(x, &range, k);
        kg_svd_free(&range);
    }
    kg_matrix_free(&xw);
    free(w);
    free(y);
    return failed;
}

// (A - X) X^T w, or (A - X)^T X w: rest is A - X.
static void hold_part(const dense *x, const dense *rest, bool transposed, double e, uint64_t key, kg_dtype t,
                      kg_holds *h) {
    const int64_t n = x->rows > x->cols ? x->rows : x->cols;
    double *w = kg_alloc((size_t)(3 * n) * sizeof *w), *y = w + n, *z = y + n;
    signs(key, w, n);
    times(x, !transposed, w, y);
    times(rest, transposed, y, z);
    const double bound = KG_SPREAD * e * length(y, transposed ? x->rows : x->cols);
    for (int64_t i = 0; i < (transposed ? x->cols : x->rows); i++)
        kg_hold(h, t, z[i], 0, bound, 0, transposed ? "(A - X)^T X w[%lld]" : "(A - X) X^T w[%lld]", (long long)i);
    free(w);
}

static void hold_largest(const dense *rest, double least, uint64_t key, kg_holds *h) {
    double *x = kg_alloc((size_t)(rest->rows + rest->cols) * sizeof *x), *y = x + rest->cols, found = 0;
    signs(key, x, rest->cols);
    for (int step = 0; step < 20; step++) {
        const double size = length(x, rest->cols);
        for (int64_t j = 0; j < rest->cols && size > 0; j++) x[j] /= size;
        times(rest, false, x, y);
        found = length(y, rest->rows);
        times(rest, true, y, x);
    }
    kg_hold_true(h, found <= 1.001 * least, "A - X has a singular value of %.6g, above X's least, %.6g", found, least);
    free(x);
}

static int hold_large(const kg_matrices *a, const kg_matrices *answer, int64_t k, kg_dtype t, kg_holds *h) {
    double *x = dense_of(answer), *rest = dense_of(a), least = 0;
    const dense xd = {x, a->rows, a->cols}, rd = {rest, a->rows, a->cols};
    const double e = kg_svd_error(a->rows < a->cols ? a->rows : a->cols) * kg_largest_singular(a, 0);
    uint64_t key;
    memcpy(&key, rest, sizeof key);
    for (int64_t i = 0; i < a->rows * a->cols; i++) rest[i] -= x[i];
    const int failed = hold_rank(&xd, k, e, key, t, h, &least);
    hold_part(&xd, &rd, false, e, key + 1000, t, h);
    hold_part(&xd, &rd, true, e, key + 2000, t, h);
    hold_largest(&rd, least, key + 3000, h);
    free(x);
    free(rest);
    return failed;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_spectrum s = {.keep = call->c->args[K].i};
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[A], kg_dtype_is_complex(out->dtype), 2);
    const bool large = a.count == 1 && !a.complex && a.rows > SMALL && a.cols > SMALL && s.keep + EXTRA <= a.cols;
    for (int64_t k = 0; !large && k < a.count; k++) kg_hold_spectrum(h, out->dtype, answer, &a, k, &s);
    for (int o = 0; large && o < answer->n; o++) {
        const kg_matrices x = kg_matrices_of(&answer->out[o], false, 2);
        if (hold_large(&a, &x, s.keep, out->dtype, h)) return -1;
    }
    return 0;
}

// One pass over A from each side for k vectors, the least that any method takes, and the product.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor;
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * 6 * (double)c->args[K].i * (double)kg_numel(a);
}

const kg_task kg_task_kbx_low_rank_svd_approximation = {
    .name = "low_rank_svd_approximation",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "low_rank_svd_approximation(A, k, *, full_matrices=True, out=None) -> Tensor",
    .summary = "The best approximation of rank k: the k largest singular values and their vectors.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A, k, *, full_matrices=True, out=None: (lambda u, s, v: "
                      "torch.matmul(u[..., :k] * s[..., None, :k], "
                      "v[..., :k, :], out=out))(*torch.linalg.svd(A, full_matrices=False))",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * kg_dim(A, -2) + (kg_elements(out) == 0))",
    .c_body = "(void)full_matrices;\n" KG_BODY_JACOBI("A")
              "// v's columns of the singular values that do not count become 0.\n"
              "for (int64_t j = 0; j < q; j++) {\n"
              "    int64_t above = 0;\n"
              "    for (int64_t c = 0; c < q; c++) above += square[c] > square[j] || (square[c] == square[j] && c < j);\n"
              "    for (int64_t r = 0; r < q && above >= k; r++) v[2 * (r * q + j)] = v[2 * (r * q + j) + 1] = 0;\n"
              "}\n" KG_BODY_JACOBI_PUT("false", "1"),
};
