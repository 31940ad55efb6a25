// solve_and_add_scaled_vector(A, b, y, alpha) -> Tensor
//
// solve_triangular(A, b, upper=True) + alpha * y. A is (n, n); as torch.linalg.solve_triangular has it, only its upper
// triangle is read, and two cases have something below it. b is (n,) or (n, k) (PyTorch's function takes a vector as a
// column); y is broadcast to b's shape, as `x += alpha * y` does.
//
// Bound: back substitution x_i = (b_i - sum_j a_ij x_j) / a_ii rounds each of its running sums and products (Higham,
// theorem 8.5, its roundings taken as independent) and passes on the errors of the x_j before it; the diagonal is
// raised, so that they shrink. Then two roundings of alpha y and the sum.
#include <stdlib.h>

#include "task/solves.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},
                                  {.name = "b", .kind = KG_P_TENSOR},
                                  {.name = "y", .kind = KG_P_TENSOR},
                                  {.name = "alpha", .kind = KG_P_FLOAT},
                                  {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, RHS, Y, ALPHA };

static kg_case *add(kg_cases *b, kg_tensor a, kg_fill_kind kind, kg_tensor rhs, kg_tensor y, double alpha) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, kg_matrix_fill(kind, a.dtype, a.shape[0]));
    kg_set_strided(c, b->task, "b", rhs, KG_NORMAL(0.25, 8));
    kg_set_strided(c, b->task, "y", y, KG_NORMAL(0.5, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}
#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))

static void plain(kg_cases *b, kg_dtype t, int64_t n, int64_t k) {
    if (k) add(b, OF(t, n, n), KG_FILL_UPPER, OF(t, n, k), OF(t, n, 1), 1);
    else add(b, OF(t, n, n), KG_FILL_UPPER, OF(t, n), OF(t, n), 0.75);
}

static void some(kg_cases *b, kg_dtype t) {
    plain(b, t, 17, 0);
    plain(b, t, 5, 3);
    add(b, kg_tensor_transposed(t, KG_SHAPE(9, 9), 0, 1), KG_FILL_LOWER, kg_tensor_transposed(t, KG_SHAPE(9, 4), 0, 1),
        OF(t, 9, 4), -1.5);
    add(b, OF(t, 11, 11), KG_FILL_RAISED, OF(t, 11, 2), OF(t, 11, 1), 2);
    add(b, OF(t, 8, 8), KG_FILL_UPPER, OF(t, 8), OF(t, 1), 2.5);
}

static void few(kg_cases *b) {
    static const int64_t sizes[][2] = {{1, 0}, {1, 1}, {2, 0}, {3, 2}, {33, 1}, {64, 0}, {48, 7}, {0, 0}, {0, 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) plain(b, KG_F32, sizes[i][0], sizes[i][1]);
    some(b, KG_F32);
    some(b, KG_F64);
    add(b, OF(KG_F32, 6, 6), KG_FILL_UPPER, OF(KG_F32, 6), OF(KG_F32, 6), 0);
    add(b, OF(KG_F32, 6, 6), KG_FILL_UPPER, OF(KG_F32, 6, 4), OF(KG_F32, 4), 1.25);  // y is a row
    add(b, OF(KG_F32, 6, 6), KG_FILL_UPPER, OF(KG_F32, 6, 4), OF(KG_F32, 1, 4), -1);
    add(b, OF(KG_F32, 12, 12), KG_FILL_RAISED, OF(KG_F32, 12), kg_tensor_stepped(KG_F32, KG_SHAPE(12), 2), -2);
    add(b, OF(KG_F32, 7, 7), KG_FILL_UPPER, OF(KG_F32, 7), (kg_tensor){.dtype = KG_F32}, 3);
    add(b, OF(KG_F32, 6, 6), KG_FILL_UPPER, OF(KG_F32, 6, 13), OF(KG_F32, 6, 1), 1);
    for (int i = RHS; i <= Y; i++)
        add(b, OF(KG_F64, 5, 5), KG_FILL_UPPER, OF(KG_F64, 5), OF(KG_F64, 5), 1.5)->args[i].fill = KG_WIDE_INTEGERS;
    for (int i = RHS; i <= Y; i++)
        add(b, OF(KG_F32, 5, 5), KG_FILL_UPPER, OF(KG_F32, 5), OF(KG_F32, 5), 1.5)->args[i].fill =
            (kg_fill){KG_FILL_CONST, NAN, 0};
    if (b->level != KG_CASES_FULL) return;
    for (int64_t n = 4; n < 300; n = 2 * n - 1) plain(b, KG_F32, n, n % 4);
    for (int64_t n = 2; n < 100; n = 2 * n + 1) plain(b, KG_F64, n, n % 3);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        few(b);
        return 0;
    }
    for (int64_t n = 32; n <= 1024; n *= 2) plain(b, KG_F32, n, 1);
    return 0;
}
#undef OF

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[RHS].tensor;
    kg_tensor view;
    if (a->ndim != 2 || a->shape[0] != a->shape[1] || b->ndim < 1 || b->ndim > 2 || b->shape[0] != a->shape[0])
        return -1;
    if (b->dtype != a->dtype || kg_expand(&c->args[Y].tensor, b, &view)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, b->ndim, b->shape);
    return 0;
}

// Column j of the solution and the squares of its errors, in units of u.
static void substitute(const kg_matrices *a, const kg_matrices *b, int64_t j, long double *x, double *e2) {
    for (int64_t i = a->rows - 1; i >= 0; i--) {
        long double run = kg_at_offset(&b->v, i * b->row_step + j * b->col_step);
        double squares = (double)(run * run);
        for (int64_t c = i + 1; c < a->rows; c++) {
            const double u = kg_at_offset(&a->v, i * a->row_step + c * a->col_step);
            const long double t = u * x[c];
            run -= t;
            squares += (double)(run * run + t * t) + u * u * e2[c];
        }
        const double d = kg_at_offset(&a->v, i * (a->row_step + a->col_step));
        x[i] = run / d;
        e2[i] = squares / (d * d) + (double)(x[i] * x[i]);
    }
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    if (kg_numel(out) == 0) return 0;
    const kg_view y = kg_view_expand(&call->args[Y], out);
    const kg_matrices a = kg_matrices_of(&call->args[A], false, 2),
                      b = kg_matrices_of(&call->args[RHS], false, out->ndim);
    const double alpha = call->c->args[ALPHA].f;
    long double *x = kg_alloc((size_t)a.rows * sizeof *x);
    double *e2 = kg_alloc((size_t)a.rows * sizeof *e2);
    for (int64_t j = 0; j < b.cols; j++) {
        substitute(&a, &b, j, x, e2);
        for (int64_t i = 0; i < a.rows; i++) {
            const double add = alpha * kg_at(&y, i * b.cols + j), value = (double)(x[i] + add);
            const double local = KG_SPREAD * sqrt(e2[i]) + 2 * fabs(add) + 2 * fabs(value);
            kg_hold(h, out->dtype, kg_at(&answer->out[0], i * b.cols + j), value, local, 0, "out[%lld,%lld]",
                    (long long)i, (long long)j);
        }
    }
    free(x);
    free(e2);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 2, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] += (double)c->args[A].tensor.shape[0] * (double)kg_numel(&c->outs[0]);
}

const kg_task kg_task_kbx_solve_and_add_scaled_vector = {
    .name = "solve_and_add_scaled_vector",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "solve_and_add_scaled_vector(A, b, y, alpha) -> Tensor",
    .summary = "The solution of an upper triangular system, plus alpha * y.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline =
        "lambda A, b, y, alpha: (torch.linalg.solve_triangular(A, b, upper=True) if b.ndim > 1 else "
        "torch.linalg.solve_triangular(A, b[:, None], upper=True)[:, 0]) + alpha * y",
    .c_items = "b->ndim == 1 ? 1 : kg_dim(b, 1)",
    .c_body =
        "// One column.\n"
        "const int64_t n = kg_dim(A, 0), step = kg_stride(b, 0), k = b->ndim == 1 ? 1 : kg_dim(b, 1);\n"
        "double *x = (double *)malloc((size_t)(n + 1) * sizeof *x);\n"
        "for (int64_t r = n - 1; r >= 0; r--) {\n"
        "    double sum = kg_get_at(b, r * step + (b->ndim == 1 ? 0 : i * kg_stride(b, 1)));\n"
        "    for (int64_t c = r + 1; c < n; c++)\n"
        "        sum -= kg_get_at(A, r * kg_stride(A, 0) + c * kg_stride(A, 1)) * x[c];\n"
        "    x[r] = sum / kg_get_at(A, r * (kg_stride(A, 0) + kg_stride(A, 1)));\n"
        "}\n"
        "for (int64_t r = 0; r < n; r++) {\n"
        "    const int64_t at = kg_broadcast_element(y, out, r * k + i);\n"
        "    kg_put(out, r * k + i, x[r] + alpha * kg_get_at(y, at));\n"
        "}\n"
        "free(x);\n",
};
