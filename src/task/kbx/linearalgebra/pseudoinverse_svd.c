// pseudoinverse_svd(A, *, full_matrices=True, rcond=1e-15, out=None) -> Tensor
//
// A is (*, m, n), the result (*, n, m): V diag(1 / s_i where s_i > rcond s_1, else 0) U^H. full_matrices chooses how
// much of U and V is computed and changes nothing in the result. Cases with the default rcond have full rank (a
// singular value that is rounding's own would be inverted), others a cut among the singular values or a rank that is
// exact.
//
// Bound: src/task/singular.h. Large ones, which are square and well-conditioned: A A^+ w = w for random signs w, where
// an error E of the decomposition leaves E A^+ w in each row.
#include <stdlib.h>

#include "task/singular.h"

#define SMALL 96

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "full_matrices", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "rcond", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-15},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, FULL, RCOND };

// ---- cases --------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int64_t m, int64_t n) {
    return kg_singular_add(b, kind, t, 0, NULL, m, n);
}
static void cut(kg_cases *b, kg_fill_kind kind, kg_dtype t, int64_t m, int64_t n, double rcond) {
    kg_set_float(add(b, kind, t, m, n), b->task, "rcond", rcond);
}
// Wide or tall enough for a condition number of a few, or with a raised diagonal.
static void sized(kg_cases *b, kg_dtype t, int64_t m, int64_t n) {
    add(b, m >= 2 * n || n >= 2 * m ? KG_FILL_NORMAL : KG_FILL_RAISED, t, m, n);
}

static void some(kg_cases *b, kg_dtype t) {
    sized(b, t, 17, 17);
    sized(b, t, 9, 20);
    sized(b, t, 21, 6);
    cut(b, KG_FILL_NORMAL, t, 12, 12, 0.4);
    cut(b, KG_FILL_NORMAL, t, 7, 15, 0.5);
    add(b, KG_FILL_NORMAL, t, 24, 11)->args[A].tensor = kg_tensor_transposed(t, KG_SHAPE(24, 11), 0, 1);
    kg_singular_add(b, KG_FILL_RAISED, t, 2, (int64_t[]){2, 3}, 4, 4);
}

static void few(kg_cases *b) {
    static const int64_t shapes[][2] = {{1, 1}, {2, 2}, {3, 3}, {1, 7}, {9, 1}, {33, 33}, {64, 20}, {5, 40}, {4, 3}};
    static const int64_t more[][2] = {{65, 65}, {90, 30}, {20, 91}, {31, 32}, {64, 64}, {100, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) sized(b, KG_F32, shapes[i][0], shapes[i][1]);
    some(b, KG_F32);
    some(b, KG_F64);
    some(b, KG_C64);
    cut(b, KG_FILL_CONST, KG_F32, 6, 5, 1e-3);  // rank one
    cut(b, KG_FILL_ZERO, KG_F32, 4, 3, 1e-3);
    cut(b, KG_FILL_NORMAL, KG_F32, 10, 8, 0.999);  // the largest alone
    // And wherever it stands before it is sorted.
    kg_set_float(kg_singular_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){40}, 10, 8), b->task, "rcond", 0.999);
    kg_set_bool(add(b, KG_FILL_NORMAL, KG_F32, 18, 5), b->task, "full_matrices", false);
    kg_set_bool(add(b, KG_FILL_NORMAL, KG_F32, 5, 18), b->task, "full_matrices", true);
    kg_give_out(b, add(b, KG_FILL_NORMAL, KG_F32, 16, 7));
    kg_singular_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){0}, 3, 2);
    kg_singular_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){11}, 5, 2);
    add(b, KG_FILL_NORMAL, KG_F32, 0, 4);
    add(b, KG_FILL_NORMAL, KG_F64, 15, 4)->args[A].fill = KG_WIDE_INTEGERS;
    if (b->level == KG_CASES_QUICK) return;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        sized(b, KG_F32, more[i][0], more[i][1]);
        sized(b, KG_F64, more[i][0], more[i][1]);
    }
    some(b, KG_C128);
    sized(b, KG_F32, 130, 130);
    kg_singular_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){17}, 8, 3);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        few(b);
        return 0;
    }
    for (int64_t n = 4; n <= (b->level == KG_TIMED_CPU ? 64 : 512); n *= 2) sized(b, KG_F32, n, n);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor;
    if (a->ndim < 2) return -1;
    kg_tensor out = *a;
    out.shape[a->ndim - 2] = a->shape[a->ndim - 1];
    out.shape[a->ndim - 1] = a->shape[a->ndim - 2];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, out.ndim, out.shape);
    return 0;
}

// ---- what holds -----------------------------------------------------------------------------------------
static void hold_product(const kg_matrices *a, const kg_matrices *x, kg_dtype t, kg_holds *h) {
    const int64_t n = a->rows;
    double *y = kg_alloc((size_t)(2 * n) * sizeof *y), *w = y + n, squares = 0;
    for (int64_t j = 0; j < n; j++) w[j] = kg_at_offset(&a->v, j * a->col_step) > 0 ? 1 : -1;  // as good as random
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double z = kg_at_offset(&x->v, i * x->row_step + j * x->col_step);
            y[i] += z * w[j];
            squares += z * z;
        }
    const double e = KG_SPREAD * kg_svd_error(n) * kg_largest_singular(a, 0) * sqrt(squares);
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int64_t j = 0; j < n; j++) s += kg_at_offset(&a->v, i * a->row_step + j * a->col_step) * y[j];
        kg_hold(h, t, s, w[i], e, 0, "A A^+ w = w in row %lld", (long long)i);
    }
    free(y);
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_spectrum s = {.inverse = true, .keep = -1, .above = call->c->args[RCOND].f};
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[A], kg_dtype_is_complex(out->dtype), 2);
    if (a.rows <= SMALL || a.rows != a.cols || a.count > 1 || a.complex) {
        for (int64_t k = 0; k < a.count; k++) kg_hold_spectrum(h, out->dtype, answer, &a, k, &s);
        return 0;
    }
    for (int o = 0; o < answer->n; o++) {
        const kg_matrices x = kg_matrices_of(&answer->out[o], false, 2);
        hold_product(&a, &x, out->dtype, h);
    }
    return 0;
}

// As much as an elimination for the normal equations, the least that gives a pseudoinverse.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor;
    const double m = (double)a->shape[a->ndim - 2], n = (double)a->shape[a->ndim - 1];
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * 2 * fmin(m, n) * (double)kg_numel(a);
}

const kg_task kg_task_kbx_pseudoinverse_svd = {
    .name = "pseudoinverse_svd",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "pseudoinverse_svd(A, *, full_matrices=True, rcond=1e-15, out=None) -> Tensor",
    .summary = "The Moore-Penrose pseudoinverse, without the singular values up to rcond times the largest.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A, *, full_matrices=True, rcond=1e-15, out=None: "
                      "torch.linalg.pinv(A, rtol=rcond, out=out)",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * kg_dim(A, -2) + (kg_elements(out) == 0))",
    .c_body = "(void)full_matrices;\n" KG_BODY_JACOBI("A")
              "double most = 0;\n"
              "for (int64_t j = 0; j < q; j++) most = fmax(most, square[j]);\n"
        KG_BODY_JACOBI_PUT("true", "sqrt(square[j]) > rcond * sqrt(most) ? 1 / square[j] : 0"),
};
