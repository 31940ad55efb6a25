// relu_fp16(input, inplace=False) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_relu_cases(b, KG_F16); }

const kg_task kg_task_kbx_relu_fp16 = {
    .name = "relu_fp16",
    .signature = "relu_fp16(input, inplace=False) -> Tensor",
    .summary = "Zero for negative elements, the element itself otherwise; in place when asked, in float16 alone.",
    .cases = cases,
    KG_RELU_TASK,
};
