// add(input, other, *, alpha=1, out=None) -> Tensor
//
// kbx's add, timed at the published sizes (data/gap22_published.csv).
#include "task/activations.h"
#include "task/shared.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_add_cases(b);
    for (int64_t n = 4096; n <= 67108864; n *= 16384) {
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(n), KG_NORMAL(0.5, 1));
        kg_set_tensor(c, b->task, "other", KG_F16, KG_SHAPE(n), KG_NORMAL(0.5, 1));
    }
    return 0;
}

const kg_task kg_task_gap22_add = {
    .name = "add",
    .suite = "gap22",
    .category = "Math",
    .signature = "add(input, other, *, alpha=1, out=None) -> Tensor",
    .summary = "input + alpha * other, broadcast; other is a tensor or a Number.",
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .torch_baseline = "torch.add",
    .cpu_baseline = "onednn",
    KG_OPERATION(add),
};
