// tanh(input, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_tanh_cases(b, KG_DTYPES); }

const kg_task kg_task_kbx_tanh = {
    .name = "tanh",
    .signature = "tanh(input, *, out=None) -> Tensor",
    .summary = "Hyperbolic tangent of each element.",
    .cases = cases,
    KG_TANH_TASK,
};
