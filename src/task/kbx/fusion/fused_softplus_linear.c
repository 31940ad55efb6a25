// fused_softplus_linear(input, weight, bias=None, beta=1, threshold=20) -> Tensor
//
// z = input @ weight.T + bias, then z itself where beta * z > threshold, else log(1 + exp(beta * z)) / beta.
//
// Bounds: src/task/linears.c. Softplus: x f'(x) = x sigmoid(beta x), from rounding beta * x too. Kernels that form
// log(1 + exp) as it stands lose relative accuracy in the left tail: 1 + exp rounds, an absolute error of a few u over
// beta is allowed. At the threshold the answer jumps, and where z's error reaches it both sides are right
// (kg_term_map).
#include "task/linears.h"

static const kg_param params[] = {
    KG_LINEAR_PARAMS,
    {.name = "beta", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "threshold", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 20},
    {.name = NULL}};

static kg_case *with(kg_cases *b, kg_dtype t, double beta, double threshold) {
    kg_case *c = kg_linear_case(b, kg_tensor_contiguous(t, KG_SHAPE(19, 33)), 24, true);
    kg_set_float(c, b->task, "beta", beta);
    kg_set_float(c, b->task, "threshold", threshold);
    return c;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_linear_cases(b);
        with(b, KG_F32, 0.5, 20);
        with(b, KG_F32, 3, 20);
        with(b, KG_F32, 1, 0.5);
        with(b, KG_F32, 2, 1.5);  // the threshold is met by beta * z, not by z
        with(b, KG_F32, 2, -1)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(-0.5, 1);
        with(b, KG_F32, 1, 20)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(100, 1);  // exp overflows when squared
        with(b, KG_F32, 1, 200)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(40, 5);
        with(b, KG_F16, 2, 1);
        const kg_fill zero = {KG_FILL_ZERO, 0, 0};  // z is 0 without an error, and not above a threshold of 0
        kg_case *c = with(b, KG_F32, 2, 0);
        c->args[KG_LINEAR_INPUT].fill = c->args[KG_LINEAR_BIAS].fill = zero;
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 16 : 64; n <= (cuda ? 32768 : 4096); n *= 2)
        kg_linear_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1, n)), n, true);
    return 0;
}

typedef struct {
    double beta, threshold;
} options;

static kg_point at(double x, const void *ctx) {
    const options *o = ctx;
    const double scaled = x * o->beta;
    if (scaled > o->threshold) return kg_point_exact(x);
    if (!isfinite(x)) return kg_point_exact(isnan(x) ? x : log1p(exp(scaled)) / o->beta);
    kg_point p = kg_point_make(log1p(exp(scaled)) / o->beta, x * kg_sigmoid(scaled));
    p.local += 4 / fabs(o->beta);
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const options o = {kg_call_arg(call, "beta")->f, kg_call_arg(call, "threshold")->f};
    return kg_linear_map(call, ref, at, &o);
}

const kg_task kg_task_kbx_fused_softplus_linear = {
    .name = "fused_softplus_linear",
    KG_LINEAR_TASK,
    .signature = "fused_softplus_linear(input, weight, bias=None, beta=1, threshold=20) -> Tensor",
    .summary = "log(1 + exp(beta * z)) / beta of a linear layer z; z itself where beta * z is above threshold.",
    .cases = cases,
    .oracle = oracle,
    .torch_baseline =
        "lambda input, weight, bias=None, beta=1, threshold=20: F.softplus(F.linear(input, weight, bias), beta, "
        "threshold)",
    .c_body = KG_LINEAR_Z "kg_put(out, i, z * beta > threshold ? z : log1p(exp(z * beta)) / beta);\n",
};
