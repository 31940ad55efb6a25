// relu_bf16(input, inplace=False) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_relu_cases(b, KG_BF16); }

const kg_task kg_task_kbx_relu_bf16 = {
    .name = "relu_bf16",
    .signature = "relu_bf16(input, inplace=False) -> Tensor",
    .summary = "Zero for negative elements, the element itself otherwise; in place when asked, in bfloat16 alone.",
    .cases = cases,
    KG_RELU_TASK,
};
