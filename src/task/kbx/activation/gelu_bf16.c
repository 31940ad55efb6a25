// gelu_bf16(input, approximate='none') -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_gelu_cases(b, KG_BF16); }

const kg_task kg_task_kbx_gelu_bf16 = {
    .name = "gelu_bf16",
    .signature = "gelu_bf16(input, approximate='none') -> Tensor",
    .summary = "x times the normal distribution function at x, exactly or by the tanh formula, in bfloat16 alone.",
    .cases = cases,
    KG_GELU_TASK,
};
