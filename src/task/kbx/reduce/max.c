// max(input, dim, keepdim=False) -> (Tensor, LongTensor)
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// The largest value along dim and where it stands first, as torch.max's documentation has it for equal values. NaN is
// larger than everything, -0 equals 0. Exact.
#include "task/extremes.h"

const kg_task kg_task_kbx_max = {
    .name = "max",
    .signature = "max(input, dim, keepdim=False) -> (Tensor, LongTensor)",
    .summary = "The largest value along dim and where it stands first; NaN is largest.",
    KG_EXTREME_TASK(max, "<="),
};
