// relu(input, inplace=False) -> Tensor
//
// kbx's relu, timed at the published sizes (data/gap22_published.csv).
#include "task/activations.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_relu_cases(b, KG_DTYPES);
    for (int64_t n = 4096; n <= 16384; n *= 4)
        kg_set_tensor(kg_case_add(b), b->task, "input", KG_F16, KG_SHAPE(n, n), KG_NORMAL(0.25, 1));
    return 0;
}

const kg_task kg_task_gap22_relu = {
    .name = "relu",
    .suite = "gap22",
    .signature = "relu(input, inplace=False) -> Tensor",
    .summary = "Zero for negative elements, the element itself otherwise; in place when asked.",
    .cases = cases,
    KG_RELU_OPERATION,
};
