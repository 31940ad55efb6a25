// sigmoid_bf16(input, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_sigmoid_cases(b, KG_BF16); }

const kg_task kg_task_kbx_sigmoid_bf16 = {
    .name = "sigmoid_bf16",
    .signature = "sigmoid_bf16(input, *, out=None) -> Tensor",
    .summary = "1 / (1 + exp(-x)) of each element, in bfloat16 alone.",
    .cases = cases,
    KG_SIGMOID_TASK,
};
