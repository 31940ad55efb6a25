// min(input, dim, keepdim=False, *, out=None) -> (Tensor, LongTensor)
//
// The smallest value along dim and where it stands first. NaN is smaller than everything, -0 equals 0. Exact.
#include "task/extremes.h"

const kg_task kg_task_kbx_min = {
    .name = "min",
    .signature = "min(input, dim, keepdim=False, *, out=None) -> (Tensor, LongTensor)",
    .summary = "The smallest value along dim and where it stands first; NaN is smallest.",
    KG_EXTREME_TASK(min, ">="),
};
