// fused_mul_sub(input, other_mul, other_sub, alpha=1, out=None) -> Tensor
//
// input * other_mul - alpha * other_sub, broadcast. The product may round on the way: condition |input other_mul| twice
// over and |alpha other_sub|. Integer cases leave alpha out: PyTorch wants an integer there, and C has double.
#include <string.h>

#include "oracle/oracle.h"
#include "task/families.h"
#include "task/pointwise.h"
#include "task/scaled.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other_mul", .kind = KG_P_TENSOR},
    {.name = "other_sub", .kind = KG_P_TENSOR},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, MUL };
static const char *const outputs[] = {"out", NULL};
static const char *const operands[] = {"input", "other_mul", "other_sub", NULL};

static kg_case *three(kg_cases *b, kg_dtype t, double alpha) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(33, 65), KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "other_mul", t, KG_SHAPE(65), KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "other_sub", t, KG_SHAPE(33, 1), KG_NORMAL(0.5, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}

// A product that overflows less an infinity is an infinity, in one fused multiply-add, or NaN, in two steps: so at most
// one factor is special, and the other cannot make it overflow.
static void finite_products(kg_cases *b) {
    for (size_t i = 0, n = b->n; i < n; i++) {
        if (b->items[i].args[MUL].fill.kind != KG_FILL_SPECIALS) continue;
        kg_case *other = kg_case_add(b);
        memcpy(other->args, b->items[i].args, sizeof other->args);
        other->args[INPUT].fill = KG_INTEGERS(-1, 1);
        b->items[i].args[MUL].fill = KG_INTEGERS(-1, 1);
    }
}

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    const kg_nary_family f = {
        .params = operands, .dtypes = dtypes, .fill = KG_NORMAL(0.5, 1), .number = 2.5, .mixed = true};
    kg_nary_cases(b, &f);
    finite_products(b);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    three(b, KG_F32, -1.75);
    three(b, KG_F32, 0);
    three(b, KG_F16, 0.5);
    kg_set_number(three(b, KG_F32, 3), b->task, "other_mul", 0.375);
    kg_set_number(three(b, KG_F32, 3), b->task, "other_sub", 0.375);
    return 0;
}

typedef struct {
    double alpha, max;  // max: of the output's dtype
} numbers;

static kg_point at(const double *x, const void *ctx) {
    const numbers *n = ctx;
    const double product = x[0] * x[1], scaled = n->alpha * x[2];
    kg_point p = kg_point_make(product - scaled, 2 * fabs(product) + fabs(scaled));
    p = kg_flushed_factors(p, x[0], x[1]);
    // A step may overflow on the way to a difference that does not; one fused multiply-add does not show it.
    if (isfinite(p.value) && fmax(fabs(product), fabs(scaled)) > n->max * (1 - 0x1p-12)) p.local = INFINITY;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const numbers n = {kg_call_arg(call, "alpha")->f, kg_dtype_max(call->c->outs[ref->out].dtype)};
    return kg_map(call, ref, 3, operands, at, &n);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, kg_case_arg(c, t, "alpha")->f == 1 ? 2 : 3, 0);
}

const kg_task kg_task_kbx_fused_mul_sub = {
    .name = "fused_mul_sub",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_mul_sub(input, other_mul, other_sub, alpha=1, out=None) -> Tensor",
    .summary = "input * other_mul - alpha * other_sub, broadcast; the last two are tensors or Numbers.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_scaled_infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda input, other_mul, other_sub, alpha=1, out=None: "
        "torch.sub(torch.mul(input, other_mul), other_sub, alpha=alpha, out=out)",
    .cpu_baseline = "onednn",
    .c_body =
        "kg_put(out, i, kg_get_broadcast(input, out, i) * kg_get_broadcast(other_mul, out, i) -\n"
        "               alpha * kg_get_broadcast(other_sub, out, i));\n",
};
