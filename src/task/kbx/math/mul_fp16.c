// mul_fp16(input, other, *, out=None) -> Tensor
#include "task/activations.h"

static int cases(kg_cases *b) { return kg_mul_variant_cases(b, KG_F16); }

const kg_task kg_task_kbx_mul_fp16 = {
    .name = "mul_fp16",
    .signature = "mul_fp16(input, other, *, out=None) -> Tensor",
    .summary = "Elementwise product of two broadcast tensors, or of a tensor and a Number, in float16 alone.",
    .cases = cases,
    KG_MUL_TASK,
};
