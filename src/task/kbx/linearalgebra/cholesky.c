// cholesky(A, *, upper=False, out=None) -> Tensor
//
// torch.linalg.cholesky: A is (*, n, n), symmetric or Hermitian, positive definite; the result is L of A = L L^H, its
// other triangle 0, or L^H with upper. What a matrix that is not positive definite gives is left open (PyTorch raises),
// so there is no such case; both triangles of A are there, whichever is read.
//
// Bound: small orders by the factor itself, dL = L phi(L^-1 dA L^-H) (src/oracle/matrices.h), dA that of the
// elimination. Large ones by L L^H z against A z for random signs z, each row within what the factor's running sums
// leave (Higham, theorem 10.3, its roundings taken as independent), every element of the other triangle, and the
// diagonal's sign.
#include "task/solves.h"

#define SMALL 192

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "upper", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, UPPER };

static const kg_fill_kind kinds[] = {KG_FILL_SYMMETRIC}, complex_kinds[] = {KG_FILL_HERMITIAN};
static const kg_system_family family = {
    .a = "A", .kinds = kinds, .complex = complex_kinds, .n_kinds = 1, .batches = true};
static const kg_systems systems = {.a = A, .b = -1};

static void uppers(kg_cases *b, kg_dtype t, int64_t n) {
    kg_case *c =
        kg_system_add(b, &family, kg_dtype_is_complex(t) ? KG_FILL_HERMITIAN : KG_FILL_SYMMETRIC, t, 0, NULL, n, 0);
    kg_set_bool(c, b->task, "upper", true);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        if (b->level == KG_TIMED_CPU) kg_system_add(b, &family, kinds[0], KG_F32, 0, NULL, 128, 0);
        kg_system_timed(b, &family, (int64_t[]){256, 512, 1024, 2048, 4096, 8192, 0}, 512, 0);
        return 0;
    }
    kg_system_cases(b, &family);
    uppers(b, KG_F32, 17);
    uppers(b, KG_F32, 1);
    uppers(b, KG_C64, 9);
    uppers(b, KG_C128, 5);
    uppers(b, KG_F64, 33);
    if (b->level == KG_CASES_FULL) uppers(b, KG_F32, 230);
    kg_give_out(b, kg_system_add(b, &family, kinds[0], KG_F32, 0, NULL, 12, 0));
    kg_set_bool(kg_system_add(b, &family, kinds[0], KG_F32, 0, NULL, 11, 0), b->task, "upper", false);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    return kg_systems_infer(c, &systems);
}

static void hold_elements(const kg_matrices *a, int64_t number, bool upper, kg_dtype t, const kg_answer *answer,
                          kg_holds *h) {
    kg_matrix m = kg_matrix_load(a, number), l, e;
    if (kg_cholesky_of(&m, &l, &e)) {
        kg_matrix value = upper ? kg_matrix_adjoint(&l) : l, error = upper ? kg_matrix_adjoint(&e) : e;
        for (int o = 0; o < answer->n; o++)
            kg_hold_matrix(h, t, &answer->out[o], a->complex, number, &value, &error, upper ? "U" : "L");
        if (upper) kg_matrix_free(&value);
        if (upper) kg_matrix_free(&error);
    }
    kg_matrix_free(&m);
    kg_matrix_free(&l);
    kg_matrix_free(&e);
}

static void hold_triangle(const kg_matrices *l, int64_t number, bool upper, kg_holds *h) {
    const int64_t start = kg_matrices_start(l, number);
    for (int64_t i = 0; i < l->rows; i++) {
        kg_hold_true(h, kg_at_offset(&l->v, start + i * (l->row_step + l->col_step)) > 0,
                     "element [%lld,%lld] of the diagonal is not positive", (long long)i, (long long)i);
        bool clear = true;
        for (int64_t j = upper ? 0 : i + 1; j < (upper ? i : l->cols); j++)
            clear = clear && kg_at_offset(&l->v, start + i * l->row_step + j * l->col_step) == 0;
        kg_hold_true(h, clear, "row %lld of the other triangle is not 0", (long long)i);
    }
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    const bool complex = kg_dtype_is_complex(out->dtype), upper = call->c->args[UPPER].i != 0;
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[A], complex, 2);
    for (int64_t k = 0; k < a.count; k++) {
        if (a.rows <= SMALL || complex) {
            hold_elements(&a, k, upper, out->dtype, answer, h);
            continue;
        }
        for (int o = 0; o < answer->n; o++) {
            const kg_matrices l = kg_matrices_of(&answer->out[o], false, 2);
            hold_triangle(&l, k, upper, h);
            kg_hold_gram(h, out->dtype, &a, &l, k, upper ? KG_SYSTEM_UPPER_FACTOR : KG_SYSTEM_LOWER_FACTOR);
        }
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor;
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) / 3.0 * (double)a->shape[a->ndim - 1] * (double)kg_numel(a);
}

const kg_task kg_task_kbx_cholesky = {
    .name = "cholesky",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "cholesky(A, *, upper=False, out=None) -> Tensor",
    .summary = "The Cholesky factor of symmetric or Hermitian positive definite matrices.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.cholesky",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * kg_dim(A, -1) + (kg_elements(out) == 0))",
    .c_body =
        "const int64_t n = kg_dim(A, -1);\n"
        "int64_t rest = i, from = 0, to = 0;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    from += rest % A->shape[d] * kg_stride(A, d);\n"
        "    to += rest % A->shape[d] * kg_stride(out, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "double *l = (double *)malloc((size_t)(2 * n * n + 1) * sizeof *l);\n"
        "for (int64_t r = 0; r < n; r++)\n"
        "    for (int64_t c = 0; c < n; c++) {\n"
        "        double *x = l + 2 * (r * n + c);\n"
        "        kg_get_complex_at(A, from + r * kg_stride(A, -2) + c * kg_stride(A, -1), x, x + 1);\n"
        "        for (int64_t k = 0; k < (c < r ? c : r); k++) {\n"
        "            const double *a = l + 2 * (r * n + k), *b = l + 2 * (c * n + k);\n"
        "            x[0] -= a[0] * b[0] + a[1] * b[1];\n"
        "            x[1] -= a[1] * b[0] - a[0] * b[1];\n"
        "        }\n"
        "        if (c > r) x[0] = x[1] = 0;\n"
        "        if (c < r) x[0] /= l[2 * (c * n + c)], x[1] /= l[2 * (c * n + c)];\n"
        "        if (c == r) x[0] = sqrt(x[0]), x[1] = 0;\n"
        "    }\n"
        "for (int64_t r = 0; r < n; r++)\n"
        "    for (int64_t c = 0; c < n; c++) {\n"
        "        const double *x = l + 2 * (upper ? c * n + r : r * n + c);\n"
        "        const int64_t at = to + r * kg_stride(out, -2) + c * kg_stride(out, -1);\n"
        "        if (out->dtype.code == kDLComplex) kg_put_complex_at(out, at, x[0], upper ? -x[1] : x[1]);\n"
        "        else kg_put_at(out, at, x[0]);\n"
        "    }\n"
        "free(l);\n",
};
