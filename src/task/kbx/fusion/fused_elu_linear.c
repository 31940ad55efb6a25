// fused_elu_linear(input, weight, bias=None, alpha=1.0, inplace=False) -> Tensor
//
// z = input @ weight.T + bias, then z where it is positive, else alpha * (exp(z) - 1). inplace speaks of the layer's
// result, which nobody else sees: it changes nothing.
//
// Bounds: src/task/linears.c. Kernels that form exp(z) - 1 as it stands lose relative accuracy near 0: its absolute
// error of a few u is allowed, as in selu.
#include "task/linears.h"

static const kg_param params[] = {
    KG_LINEAR_PARAMS,
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = NULL}};

static kg_case *with_alpha(kg_cases *b, kg_dtype t, double alpha) {
    kg_case *c = kg_linear_case(b, kg_tensor_contiguous(t, KG_SHAPE(19, 33)), 24, true);
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_linear_cases(b);
        with_alpha(b, KG_F32, 0.25);
        with_alpha(b, KG_F32, 3);
        with_alpha(b, KG_F32, -1.5);
        with_alpha(b, KG_F32, 0);
        with_alpha(b, KG_F16, 2.5)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(-1, 1);
        with_alpha(b, KG_F32, 2)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(-30, 9);  // far out: -alpha
        kg_set_bool(with_alpha(b, KG_F32, 1.25), b->task, "inplace", true);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t k = 256; k <= (cuda ? 65536 : 4096); k *= 2)
        kg_linear_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(cuda ? 1024 : 64, k)), 256, true);
    return 0;
}

static kg_point at(double x, const void *ctx) {
    const double alpha = *(const double *)ctx;
    if (x > 0) return kg_point_exact(x);
    const double v = alpha * expm1(x);
    if (!isfinite(x)) return kg_point_exact(v);
    kg_point p = kg_point_make(v, alpha * x * exp(x));
    p.local += 4 * fabs(alpha);
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    return kg_linear_map(call, ref, at, &kg_call_arg(call, "alpha")->f);
}

const kg_task kg_task_kbx_fused_elu_linear = {
    .name = "fused_elu_linear",
    KG_LINEAR_TASK,
    .signature = "fused_elu_linear(input, weight, bias=None, alpha=1.0, inplace=False) -> Tensor",
    .summary = "A linear layer's value where it is positive, else alpha * (exp(value) - 1).",
    .cases = cases,
    .oracle = oracle,
    .torch_baseline =
        "lambda input, weight, bias=None, alpha=1.0, inplace=False: F.elu(F.linear(input, weight, bias), alpha, "
        "inplace)",
    .c_body = KG_LINEAR_Z "kg_put(out, i, z > 0 ? z : alpha * expm1(z));\n",
};
