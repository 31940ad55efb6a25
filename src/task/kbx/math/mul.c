// mul(input, other, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_mul_cases(b, KG_DTYPES); }

const kg_task kg_task_kbx_mul = {
    .name = "mul",
    .signature = "mul(input, other, *, out=None) -> Tensor",
    .summary = "Elementwise product of two broadcast tensors, or of a tensor and a Number.",
    .cases = cases,
    KG_MUL_TASK,
};
