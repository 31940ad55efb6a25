// fused_tanh_linear(input, weight, bias=None) -> Tensor
//
// tanh(input @ weight.T + bias). Bounds: src/task/linears.c, and tanh's (kg_tanh_point).
#include "task/linears.h"

static const kg_param params[] = {KG_LINEAR_PARAMS, {.name = NULL}};

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_linear_cases(b);
        return 0;
    }
    for (int64_t i = 4; i <= (b->level == KG_TIMED_CUDA ? 4096 : 128); i *= 2)
        kg_linear_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(i, 8 * i)), 2 * i, true);
    return 0;
}

static kg_point at(double x, const void *ctx) {
    (void)ctx;
    return kg_tanh_point(x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_linear_map(call, ref, at, NULL); }

const kg_task kg_task_kbx_fused_tanh_linear = {
    .name = "fused_tanh_linear",
    KG_LINEAR_TASK,
    .signature = "fused_tanh_linear(input, weight, bias=None) -> Tensor",
    .summary = "Hyperbolic tangent of a linear layer.",
    .cases = cases,
    .oracle = oracle,
    .torch_baseline = "lambda input, weight, bias=None: torch.tanh(F.linear(input, weight, bias))",
    .c_body = KG_LINEAR_Z "kg_put(out, i, tanh(z));\n",
};
