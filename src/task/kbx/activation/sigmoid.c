// sigmoid(input, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_sigmoid_cases(b, KG_DTYPES); }

const kg_task kg_task_kbx_sigmoid = {
    .name = "sigmoid",
    .signature = "sigmoid(input, *, out=None) -> Tensor",
    .summary = "1 / (1 + exp(-x)) of each element.",
    .cases = cases,
    KG_SIGMOID_TASK,
};
