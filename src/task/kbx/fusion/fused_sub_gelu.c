// fused_sub_gelu(input, other, alpha=1, approximate='none', out=None) -> Tensor
#include "task/activations.h"
#include "task/scaled.h"

static int oracle(const kg_call *call, kg_ref *ref) { return kg_scaled_gelu_oracle(call, ref, -1); }

const kg_task kg_task_kbx_fused_sub_gelu = {
    .name = "fused_sub_gelu",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_sub_gelu(input, other, alpha=1, approximate='none', out=None) -> Tensor",
    .summary = "GELU of input - alpha * other, broadcast; other is a tensor or a Number.",
    .params = kg_params_scaled_gelu,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = kg_scaled_gelu_cases,
    .infer = kg_scaled_gelu_infer,
    .oracle = oracle,
    .work = kg_scaled_gelu_work,
    .torch_baseline =
        "lambda input, other, alpha=1, approximate='none', out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "(F.gelu(torch.sub(input, other, alpha=alpha), approximate=approximate))",
    .c_body =
        "const double x = kg_get_broadcast(input, out, i) - alpha * kg_get_broadcast(other, out, i);\n"
        "const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n"
        "const double twice_cdf = by_tanh ? 1.0 + tanh(inner) : erfc(-x * 0.7071067811865476);\n"
        "kg_put(out, i, 0.5 * x * twice_cdf);\n",
};
