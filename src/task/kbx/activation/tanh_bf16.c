// tanh_bf16(input, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_tanh_cases(b, KG_BF16); }

const kg_task kg_task_kbx_tanh_bf16 = {
    .name = "tanh_bf16",
    .signature = "tanh_bf16(input, *, out=None) -> Tensor",
    .summary = "Hyperbolic tangent of each element, in bfloat16 alone.",
    .cases = cases,
    KG_TANH_TASK,
};
