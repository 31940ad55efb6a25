// relu(input, inplace=False) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_relu_cases(b, KG_DTYPES); }

const kg_task kg_task_kbx_relu = {
    .name = "relu",
    .signature = "relu(input, inplace=False) -> Tensor",
    .summary = "Zero for negative elements, the element itself otherwise; in place when asked.",
    .cases = cases,
    KG_RELU_TASK,
};
