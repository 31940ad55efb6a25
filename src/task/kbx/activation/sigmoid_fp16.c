// sigmoid_fp16(input, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_sigmoid_cases(b, KG_F16); }

const kg_task kg_task_kbx_sigmoid_fp16 = {
    .name = "sigmoid_fp16",
    .signature = "sigmoid_fp16(input, *, out=None) -> Tensor",
    .summary = "1 / (1 + exp(-x)) of each element, in float16 alone.",
    .cases = cases,
    KG_SIGMOID_TASK,
};
