// gelu(input, approximate='none') -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_gelu_cases(b, KG_DTYPES); }

const kg_task kg_task_kbx_gelu = {
    .name = "gelu",
    .signature = "gelu(input, approximate='none') -> Tensor",
    .summary = "x times the normal distribution function at x, exactly or by the tanh formula.",
    .cases = cases,
    KG_GELU_TASK,
};
