// fused_mv_sigmoid_sub(input, vec, other, alpha=1, *, out=None) -> Tensor
//
// sigmoid(input @ vec) - alpha * other: input (n, m), vec (m), other a Number or broadcast with the n results, which it
// may outgrow. One dtype for all.
//
// Bounds. The product as src/oracle/product.c has it; sigmoid bends its error (kg_term_map), alpha * other and the
// difference round once each; in half precision alpha and the product may be stored.
#include <stdlib.h>

#include "oracle/stages.h"
#include "task/products.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "vec", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, VEC, OTHER, ALPHA };

// ---- cases ----------------------------------------------------------------------------------------
// The product has deviation 1 and a bit: sigmoid bends and is not saturated.
static kg_case *add(kg_cases *b, kg_tensor input, double alpha) {
    kg_case *c = kg_case_add(b);
    const double scale = 1 / sqrt(fmax(1, (double)input.shape[1]));
    kg_set_strided(c, b->task, "input", input, KG_FACTORS);
    kg_set_tensor(c, b->task, "vec", input.dtype, KG_SHAPE(input.shape[1]), KG_NORMAL(0, 1.5 * scale));
    kg_set_tensor(c, b->task, "other", input.dtype, KG_SHAPE(input.shape[0]), KG_NORMAL(0.5, 1));
    if (alpha != 1) kg_set_float(c, b->task, "alpha", alpha);
    return c;
}
static kg_case *minus(kg_cases *b, kg_case *c, kg_tensor other) {
    kg_set_strided(c, b->task, "other", other, KG_NORMAL(0.5, 1));
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    add(b, F32(3, 5), 1);
    add(b, F32(1, 1), 1);
    add(b, F32(33, 65), 0.5);
    add(b, F32(65, 33), -2);
    add(b, F32(129, 257), 0);
    add(b, F32(7, 4099), 1.25);
    add(b, F32(5003, 3), 0.75);
    add(b, F32(0, 5), 1);
    add(b, F32(5, 0), 1);  // sigmoid(0) - other
    kg_set_number(add(b, F32(31, 17), 1), b->task, "other", 0.375);
    kg_set_number(add(b, F32(31, 17), -3), b->task, "other", 0.25);
    minus(b, add(b, F32(31, 17), 2), F32(1));
    minus(b, add(b, F32(31, 17), 2), F32(4, 31));
    minus(b, add(b, F32(31, 17), 1), F32(6, 1));
    minus(b, add(b, F32(1, 17), 1), F32(9));
    minus(b, add(b, F32(31, 17), 1), kg_tensor_contiguous(KG_F32, 0, NULL));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(34, 65), 0, 1), 1);
    kg_case *c =
        minus(b, add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(33, 40), 2), 1), kg_tensor_stepped(KG_F32, KG_SHAPE(33), 3));
    kg_set_strided(c, b->task, "vec", kg_tensor_stepped(KG_F32, KG_SHAPE(40), 2), KG_NORMAL(0, 0.2));
    c = add(b, F32(35, 17), 1);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(35), KG_NORMAL(0, 1));
    add(b, F32(40, 1), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);  // one product each: 1 and 0 at the infinities
    add(b, F32(33, 17), 1)->args[OTHER].fill = KG_SPECIALS(0, 1);
    for (size_t i = 0; i < 3; i++) {
        const kg_dtype t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, kg_tensor_contiguous(t, KG_SHAPE(33, 65)), 0.75);
        kg_set_number(add(b, kg_tensor_contiguous(t, KG_SHAPE(9, 1030)), 1), b->task, "other", 0.375);
    }
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 8; n++) add(b, F32(n, 9 - n), 1);
    add(b, F32(512, 511), 1);
    add(b, F32(3, 16384), 1);
    add(b, F32(33, 65), 1)->args[INPUT].fill = KG_OUTLIERS(0, 1);
    add(b, F32(33, 65), 1)->args[INPUT].fill = KG_NORMAL(-60, 9);  // both tails
    add(b, F32(33, 65), 1e-3)->args[OTHER].fill = KG_NORMAL(0, 1000);
    minus(b, add(b, F32(31, 17), 1), F32(2, 3, 31));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 33), 0), 1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 64; n <= (b->level == KG_TIMED_CUDA ? 32768 : 4096); n *= 2)
        kg_set_number(add(b, F32(n, n), 1), b->task, "other", 0.5);
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[INPUT].tensor, *x = &c->args[VEC].tensor;
    const kg_arg *other = &c->args[OTHER];
    if (a->ndim != 2 || x->ndim != 1 || a->shape[1] != x->shape[0] || !kg_dtype_is_float(a->dtype)) return -1;
    if (a->dtype != x->dtype || (!other->scalar && other->tensor.dtype != a->dtype)) return -1;
    const kg_tensor rows = kg_tensor_contiguous(a->dtype, 1, a->shape);
    kg_tensor out = rows;
    if (!other->scalar && kg_broadcast(&rows, &other->tensor, &out)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, out.ndim, out.shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static kg_point sigmoid_at(double x, const void *ctx) {
    (void)ctx;
    return kg_sigmoid_point(x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view a = kg_call_view(call, "input"), x = kg_call_view(call, "vec"), other = kg_call_view(call, "other");
    const kg_tensor *out = &call->c->outs[0], rows = kg_tensor_contiguous(a.desc.dtype, 1, a.desc.shape);
    const kg_view minus = kg_view_expand(&other, out);
    const kg_rung r = kg_rung_of(call->task, out->dtype);
    int64_t *row = malloc(ref->n * sizeof *row + 1);
    if (!row) return -1;
    for (size_t k = 0; k < ref->n; k++) row[k] = a.desc.shape[0] == 1 ? 0 : ref->index[k] % a.desc.shape[0];
    kg_ref product = *ref;
    product.index = row;
    kg_matmul_ref(&a, &x, &rows, &product);
    const kg_term alpha = kg_term_stored(&r, kg_term_number(&r, call->c->args[ALPHA].f));
    for (size_t k = 0; k < ref->n; k++) {
        const kg_term z = {ref->value[k], ref->local[k], ref->acc[k]};
        const kg_term scaled =
            kg_term_stored(&r, kg_term_mul(&r, alpha, kg_term_input(&r, kg_at(&minus, ref->index[k]))));
        kg_term_put(ref, k, kg_term_sub(&r, kg_term_stored(&r, kg_term_map(&r, z, sigmoid_at, NULL)), scaled));
    }
    free(row);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[INPUT].tensor);
    kg_work_map(t, c, w, 2, 1);
    w->ops[kg_product_unit(c->outs[0].dtype)] += 2 * n;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 2 * (double)c->args[INPUT].tensor.shape[1]);
}

const kg_task kg_task_kbx_fused_mv_sigmoid_sub = {
    .name = "fused_mv_sigmoid_sub",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_mv_sigmoid_sub(input, vec, other, alpha=1, *, out=None) -> Tensor",
    .summary = "Sigmoid of a matrix times a vector, minus alpha * other.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, vec, other, alpha=1, *, out=None: torch.sub(torch.sigmoid(torch.mv(input, vec)), other, "
        "alpha=alpha, out=out)",
    .c_body =
        "const int64_t n = kg_dim(input, 0), row = n == 1 ? 0 : i % n;\n"
        "double z = 0;\n"
        "for (int64_t k = 0; k < kg_dim(vec, 0); k++)\n"
        "    z += kg_get_at(input, row * kg_stride(input, 0) + k * kg_stride(input, 1)) * kg_get(vec, k);\n"
        "kg_put(out, i, 1.0 / (1.0 + exp(-z)) - alpha * kg_get_broadcast(other, out, i));\n",
};
