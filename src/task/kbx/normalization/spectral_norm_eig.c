// spectral_norm_eig(A, *, out=None) -> Tensor
//
// max |lambda| over the eigenvalues of A (*, n, n), n >= 1; real, of shape (*). That is the spectral radius: the
// description and the maths say so, though for matrices that are not normal the operator norm it is named after is
// larger.
//
// Bound: eigenvalues are those of A + E, E of deviation u |A|_F c / sqrt(n) in each element, c = 3 + kg_svd_error(n):
// Hessenberg form and the QR iteration rotate each row and column a few n times. One moves by w^H E v / (w^H v)
// (Wilkinson; Golub and Van Loan, 7.2.2), |v| |w| / |w^H v| times E's deviation. Every eigenvalue whose modulus may
// become the largest counts, with its own error. GSL's values err alike: float64 cases get twice the bound. Where the
// condition number says nothing (a defective matrix), nothing is claimed; the complex matrix's real form has conjugates
// as well, which are as large.
#include <stdlib.h>

#include "task/singular.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

// ---- cases --------------------------------------------------------------------------------------------
static const kg_fill_kind kinds[] = {KG_FILL_NORMAL, KG_FILL_SYMMETRIC, KG_FILL_CYCLIC, KG_FILL_RAISED};

static kg_case *add(kg_cases *b, int kind, kg_dtype t, int n_batch, const int64_t *batch, int64_t n) {
    kg_case *c = kg_singular_add(b, KG_FILL_NORMAL, t, n_batch, batch, n, n);
    c->args[0].fill = kg_matrix_fill(kinds[kind % 4], t, n);
    return c;
}
static void some(kg_cases *b, kg_dtype t) {
    const bool complex = kg_dtype_is_complex(t);
    for (int k = 0; k < 4; k++)
        if (!complex || k != 1) add(b, k, t, 0, NULL, 9 + k);
    add(b, 0, t, 2, (int64_t[]){2, 3}, 4);
    add(b, 3, t, 0, NULL, 8)->args[0].tensor = kg_tensor_stepped(t, KG_SHAPE(8, 8), 2);
    add(b, 0, t, 0, NULL, 7)->args[0].tensor = kg_tensor_transposed(t, KG_SHAPE(5, 7, 7), 0, 2);
}

static int cases(kg_cases *b) {
    static const int64_t orders[] = {1, 2, 3, 5, 16, 17, 33, 48}, more[] = {4, 8, 31, 32, 64, 65};
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        for (int64_t n = 4; n <= (b->level == KG_TIMED_CPU ? 64 : 128); n *= 2) add(b, 0, KG_F32, 0, NULL, n);
        return 0;
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) add(b, (int)i, KG_F32, 0, NULL, orders[i]);
    some(b, KG_F32);
    some(b, KG_F64);
    some(b, KG_C64);
    add(b, 0, KG_F32, 0, NULL, 4)->args[0].fill = (kg_fill){KG_FILL_CONST, -1.5, 0};  // -6, and 0
    // Zeros in the way of a reflection, alone and in a whole column.
    for (int64_t n = 4; n <= 6; n++)
        add(b, 0, KG_F32, 1, (int64_t[]){12}, n)->args[0].fill = (kg_fill){KG_FILL_TIES, 0, 0};
    add(b, 0, KG_F32, 0, NULL, 7)->args[0].fill = kg_matrix_fill(KG_FILL_UPPER, KG_F32, 7);
    add(b, 0, KG_F32, 0, NULL, 9)->args[0].fill = kg_matrix_fill(KG_FILL_LOWER, KG_F32, 9);
    add(b, 0, KG_F32, 1, (int64_t[]){0}, 3);
    add(b, 0, KG_F32, 1, (int64_t[]){5}, 1);
    kg_give_out(b, add(b, 0, KG_F32, 1, (int64_t[]){3}, 6));
    if (b->level == KG_CASES_QUICK) return 0;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (int k = 0; k < 2; k++) add(b, (int)i + k, k ? KG_F64 : KG_F32, 0, NULL, more[i]);
    some(b, KG_C128);
    add(b, 0, KG_F32, 1, (int64_t[]){40}, 6);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[0].tensor;
    if (a->ndim < 2 || a->shape[a->ndim - 1] != a->shape[a->ndim - 2] || a->shape[a->ndim - 1] < 1) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_dtype_part(a->dtype), a->ndim - 2, a->shape);
    return 0;
}

// ---- what holds -----------------------------------------------------------------------------------------
// |v_k| |w_k|: the condition number of eigenvalue k, since w v = 1.
static double condition(const kg_eigen *e, int64_t k) {
    double v = 0, w = 0;
    for (int64_t i = 0; i < e->n; i++)
        for (int p = 0; p < 2; p++) {
            v += e->v[2 * (i * e->n + k) + p] * e->v[2 * (i * e->n + k) + p];
            w += e->w[2 * (k * e->n + i) + p] * e->w[2 * (k * e->n + i) + p];
        }
    return sqrt(v * w);
}

// The largest modulus, and the largest error of those that may be it; in units of u.
static double radius_of(const kg_eigen *e, double deviation, double u, double *error) {
    double most = 0;
    *error = 0;
    for (int64_t k = 0; k < e->n; k++) most = fmax(most, hypot(e->value[2 * k], e->value[2 * k + 1]));
    for (int64_t k = 0; k < e->n; k++) {
        const double mine = KG_SPREAD * deviation * condition(e, k);
        if (hypot(e->value[2 * k], e->value[2 * k + 1]) + 2 * u * mine >= most) *error = fmax(*error, mine);
    }
    return most;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_dtype a_type = call->c->args[0].tensor.dtype, t = call->c->outs[0].dtype;
    const double u = kg_working_unit(call->task, t);
    if (kg_numel(&call->c->outs[0]) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[0], kg_dtype_is_complex(a_type), 2);
    for (int64_t k = 0; k < a.count; k++) {
        kg_matrix m = kg_matrix_load(&a, k);
        kg_eigen e;
        double norm = 0, error;
        for (int64_t i = 0; i < m.rows * m.cols; i++) norm += (double)(m.at[i] * m.at[i]);
        if (kg_eigen_of(&m, &e) == 0) {
            const double deviation = (3 + kg_svd_error(m.rows)) * sqrt(norm / (double)m.rows) * (t == KG_F64 ? 2 : 1);
            const double radius = radius_of(&e, deviation, u, &error);
            for (int o = 0; o < answer->n && u * error < 0.1 * radius; o++)
                kg_hold(h, t, kg_at(&answer->out[o], k), radius, error + 2 * radius, 0, "of matrix %lld", (long long)k);
            kg_eigen_free(&e);
        }
        kg_matrix_free(&m);
    }
    return 0;
}

// The QR algorithm for eigenvalues alone (Golub and Van Loan, 7.5.6); powers need no less.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[0].tensor;
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * 10 * (double)a->shape[a->ndim - 1] * (double)kg_numel(a);
}

const kg_task kg_task_kbx_spectral_norm_eig = {
    .name = "spectral_norm_eig",
    .suite = "kbx",
    .category = "Normalization",
    .signature = "spectral_norm_eig(A, *, out=None) -> Tensor",
    .summary = "The largest modulus of the eigenvalues of square matrices.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline =
        "lambda A, *, out=None: torch.amax(torch.linalg.eigvals(A).abs(), -1, out=out) if out is not None "
        "else torch.amax(torch.linalg.eigvals(A).abs(), -1)",
    .c_items = "kg_elements(out)",
    .c_body =
        "// Gelfand's formula: |A^m|^(1/m) for m = 2^60, by squaring; the logarithms of the norms taken out add up.\n"
        "const int64_t n = kg_dim(A, -1);\n"
        "int64_t rest = i, from = 0;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    from += rest % A->shape[d] * kg_stride(A, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "double *x = (double *)malloc((size_t)(4 * n * n + 1) * sizeof *x), *y = x + 2 * n * n;\n"
        "double logarithm = 0, share = 1;\n"
        "for (int64_t k = 0; k < n * n; k++)\n"
        "    kg_get_complex_at(A, from + k / n * kg_stride(A, -2) + k % n * kg_stride(A, -1), x + 2 * k, x + 2 * k + 1);\n"
        "for (int step = 0; step < 60; step++) {\n"
        "    double norm = 0;\n"
        "    for (int64_t k = 0; k < 2 * n * n; k++) norm += x[k] * x[k];\n"
        "    norm = sqrt(norm);\n"
        "    logarithm += share * log(norm);\n"
        "    share /= 2;\n"
        "    for (int64_t k = 0; k < n * n; k++) {\n"
        "        double re = 0, im = 0;\n"
        "        for (int64_t j = 0; j < n; j++) {\n"
        "            const double *a = x + 2 * (k / n * n + j), *b = x + 2 * (j * n + k % n);\n"
        "            re += a[0] * b[0] - a[1] * b[1];\n"
        "            im += a[0] * b[1] + a[1] * b[0];\n"
        "        }\n"
        "        y[2 * k] = re / norm / norm;\n"
        "        y[2 * k + 1] = im / norm / norm;\n"
        "    }\n"
        "    double *t = x;\n"
        "    x = y;\n"
        "    y = t;\n"
        "}\n"
        "kg_put(out, i, exp(logarithm));\n"
        "free(x < y ? x : y);\n",
};
