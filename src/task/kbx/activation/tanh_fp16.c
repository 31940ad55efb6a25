// tanh_fp16(input, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_tanh_cases(b, KG_F16); }

const kg_task kg_task_kbx_tanh_fp16 = {
    .name = "tanh_fp16",
    .signature = "tanh_fp16(input, *, out=None) -> Tensor",
    .summary = "Hyperbolic tangent of each element, in float16 alone.",
    .cases = cases,
    KG_TANH_TASK,
};
