// sub(input, other, *, alpha=1, out=None) -> Tensor
#include "task/activations.h"
#include "task/scaled.h"

static int oracle(const kg_call *call, kg_ref *ref) { return kg_scaled_oracle(call, ref, -1); }

const kg_task kg_task_kbx_sub = {
    .name = "sub",
    .suite = "kbx",
    .category = "Math",
    .signature = "sub(input, other, *, alpha=1, out=None) -> Tensor",
    .summary = "input - alpha * other, broadcast; other is a tensor or a Number.",
    .params = kg_params_scaled,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = kg_scaled_cases,
    .infer = kg_scaled_infer,
    .oracle = oracle,
    .work = kg_scaled_work,
    .torch_baseline = "torch.sub",
    .cpu_baseline = "onednn",
    .c_body = "kg_put(out, i, kg_get_broadcast(input, out, i) - alpha * kg_get_broadcast(other, out, i));\n",
};
