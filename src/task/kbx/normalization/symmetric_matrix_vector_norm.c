// symmetric_matrix_vector_norm(A, x, alpha, beta, p=2.0) -> Tensor
//
// The text has y = alpha * mv(A, x) + beta * y, and no y among the arguments. As in the public benchmark's reference,
// the y on the right is alpha * mv(A, x): so (1 + beta) * alpha * (A @ x), and its p-norm, 0-dimensional; p > 0 or
// infinity. A is symmetric, and a kernel may read half of it. So A's values are those of h[i + j], a vector seen as a
// matrix with both strides 1; dense ones, as timed, are constant.
//
// Bounds. The products as src/oracle/product.c has them, the scaling's two roundings, and kg_stage_p_norm.
#include <stdlib.h>

#include "oracle/stages.h"
#include "task/products.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "x", .kind = KG_P_TENSOR},
    {.name = "alpha", .kind = KG_P_FLOAT},
    {.name = "beta", .kind = KG_P_FLOAT},
    {.name = "p", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 2},
    {.name = NULL}};
enum { A, X, ALPHA, BETA, P };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *with(kg_cases *b, kg_tensor a, double alpha, double beta) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "x", a.dtype, KG_SHAPE(a.shape[0]), KG_NORMAL(0.5, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    kg_set_float(c, b->task, "beta", beta);
    return c;
}
static kg_case *add(kg_cases *b, kg_dtype t, int64_t n, double alpha, double beta) {
    kg_tensor a = kg_tensor_contiguous(t, KG_SHAPE(n, n));
    a.stride[0] = 1;
    return with(b, a, alpha, beta);
}
static kg_case *dense(kg_cases *b, int64_t n, double alpha, double beta) {
    kg_case *c = with(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, n)), alpha, beta);
    c->args[A].fill = (kg_fill){KG_FILL_CONST, 0.75, 0};
    return c;
}
static kg_case *norm(kg_cases *b, kg_case *c, double p) {
    kg_set_float(c, b->task, "p", p);
    return c;
}

static void quick(kg_cases *b) {
    static const double orders[] = {1, 3, 0.5, 2.5, INFINITY};
    const kg_dtype t = KG_F32;
    add(b, t, 3, 1, 0.5);
    add(b, t, 1, 1, 0.5);
    add(b, t, 33, 0.5, -3);
    add(b, t, 65, -1.5, 1);
    add(b, t, 33, 1.25, 0);
    add(b, t, 33, 2, -0.25);
    add(b, t, 257, 1, 1);
    add(b, t, 1025, 1, 0.5);
    dense(b, 33, 1, 0.5);
    dense(b, 130, 0.5, 1);
    for (int i = 0; i < 5; i++) norm(b, add(b, t, 33 + i, 0.75, 0.5), orders[i]);
    norm(b, add(b, t, 1, 1, 0.5), 1);
    add(b, t, 40, 1, 0.5)->args[A].fill = KG_NORMAL(0, 1);
    add(b, t, 40, 1, 0.5)->args[X].fill = (kg_fill){KG_FILL_CONST, 0, 0};
    add(b, t, 40, 1, 0.5)->args[X].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    norm(b, add(b, t, 40, 1, 0.5), INFINITY)->args[X].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_case *c = add(b, t, 31, 1, 0.5);
    kg_set_strided(c, b->task, "x", kg_tensor_stepped(t, KG_SHAPE(31), 3), KG_NORMAL(0.5, 1));
    c->args[A].tensor.stride[0] = c->args[A].tensor.stride[1] = 2;
    for (size_t i = 0; i < 3; i++) {
        const kg_dtype other = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, other, 65, 0.25, 0.5);
        norm(b, add(b, other, 65, 0.25, 0.5), 1);
    }
}

static void full(kg_cases *b) {
    for (int64_t n = 2; n <= 1024; n *= 4) add(b, KG_F32, n, 1, 0.5);
    add(b, KG_F32, 2053, 1, 0.5);
    add(b, KG_F32, 64, 1e-3, 1e3);
    norm(b, add(b, KG_F32, 129, 1, 0.5), 1.5);
    norm(b, add(b, KG_F64, 129, 1, 0.5), 4);
    add(b, KG_F16, 257, 0.125, 0.5);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4 : 256; n <= (cuda ? 16384 : 4096); n *= 2) dense(b, n, 1, 0.5);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *x = &c->args[X].tensor;
    if (a->ndim != 2 || x->ndim != 1 || a->shape[0] != a->shape[1] || a->shape[0] != x->shape[0]) return -1;
    if (a->dtype != x->dtype || !kg_dtype_is_float(a->dtype) || !(c->args[P].f > 0) || a->shape[0] == 0) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, 0, NULL);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static int product(kg_ref *ref, void *ctx) {
    const kg_call *call = ctx;
    const kg_view a = kg_call_view(call, "A"), x = kg_call_view(call, "x");
    const kg_tensor rows = kg_tensor_contiguous(a.desc.dtype, 1, a.desc.shape);
    kg_matmul_ref(&a, &x, &rows, ref);
    return 0;
}

static int norm_of(int64_t block, kg_stage *out, void *ctx) {
    const kg_call *call = ctx;
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    const int64_t n = call->c->args[X].tensor.shape[0];
    kg_stage y = {n, malloc((size_t)n * sizeof *y.at)};
    if (!y.at || kg_stage_from(&y, block, 1, product, ctx)) {
        free(y.at);
        return -1;
    }
    const kg_term alpha = kg_term_number(&r, call->c->args[ALPHA].f), beta = kg_term_number(&r, call->c->args[BETA].f);
    for (int64_t i = 0; i < n; i++) {
        const kg_term first = kg_term_stored(&r, kg_term_mul(&r, alpha, y.at[i]));
        const kg_term more = kg_term_stored(&r, kg_term_mul(&r, beta, first));
        // first + beta first: the errors of first are (1 + beta) times first's, not 1 + |beta|.
        const double by = 1 + beta.value;
        kg_term sum = kg_term_add(&r, kg_term_exact(first.value), kg_term_exact(more.value));
        sum.local += fabs(by) * first.local + (r.half ? fabs(more.value) : 0);
        sum.acc += fabs(by) * first.acc + 2 * fabs(more.value);
        y.at[i] = isfinite(sum.value) ? kg_term_stored(&r, sum) : kg_term_exact(sum.value);
    }
    out->at[0] = kg_stage_p_norm(&r, &y, call->c->args[P].f);
    free(y.at);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_stage_each(ref, 1, 1, norm_of, (void *)call); }

// Half of A, with the diagonal.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    (void)t;
    const double n = (double)c->args[X].tensor.shape[0], size = (double)kg_dtype_size(c->outs[0].dtype);
    *w = (kg_work){.bytes_read = (n * (n + 1) / 2 + n) * size, .bytes_written = size};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * n * n;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const double n = (double)c->args[X].tensor.shape[0];
    return 2 * n * n;
}

const kg_task kg_task_kbx_symmetric_matrix_vector_norm = {
    .name = "symmetric_matrix_vector_norm",
    .suite = "kbx",
    .category = "Normalization",
    .signature = "symmetric_matrix_vector_norm(A, x, alpha, beta, p=2.0) -> Tensor",
    .summary = "The p-norm of (1 + beta) * alpha * (A @ x), of a symmetric A.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda A, x, alpha, beta, p=2.0: (lambda y: torch.norm(y + beta * y, p))(alpha * torch.mv(A, x))",
    .c_items = "1",
    .c_body =
        "const int64_t n = kg_dim(x, 0);\n"
        "double norm = 0;\n"
        "for (int64_t r = 0; r < n; r++) {\n"
        "    double y = 0;\n"
        "    for (int64_t k = 0; k < n; k++)\n"
        "        y += kg_get_at(A, r * kg_stride(A, 0) + k * kg_stride(A, 1)) * kg_get(x, k);\n"
        "    y = fabs(alpha * y + beta * (alpha * y));\n"
        "    if (p == INFINITY) norm = y > norm || y != y ? y : norm;\n"
        "    else norm += pow(y, p);\n"
        "}\n"
        "kg_put(out, i, p == INFINITY ? norm : pow(norm, 1.0 / p));\n",
};
