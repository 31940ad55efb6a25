// argmax(input, dim, keepdim=False) -> LongTensor
//
// kbx's argmax, timed at the published sizes (data/gap22_published.csv).
#include "task/activations.h"
#include "task/shared.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_argmax_cases(b);
    for (int i = 0; i < 2; i++) {
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(i ? 8192 : 1024, i ? 32768 : 1024), KG_NORMAL(0, 1));
        kg_set_int(c, b->task, "dim", 1);
    }
    return 0;
}

const kg_task kg_task_gap22_argmax = {
    .name = "argmax",
    .suite = "gap22",
    .category = "Reduce",
    .signature = "argmax(input, dim, keepdim=False) -> LongTensor",
    .summary =
        "Where the largest value along dim stands (None: in the flattened input); NaN is largest, the first of equals counts.",
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .reach = kg_argmax_reach,
    .torch_baseline = "torch.argmax",
    KG_OPERATION(argmax),
};
