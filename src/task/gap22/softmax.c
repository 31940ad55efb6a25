// softmax(input, dim, dtype=None) -> Tensor
//
// kbx's softmax, timed at the published sizes (data/gap22_published.csv).
#include "task/activations.h"
#include "task/shared.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_softmax_cases(b);
    for (int i = 0; i < 2; i++) {
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(i ? 4096 : 512, i ? 32768 : 1024), KG_NORMAL(0, 2));
        kg_set_int(c, b->task, "dim", 1);
    }
    return 0;
}

const kg_task kg_task_gap22_softmax = {
    .name = "softmax",
    .suite = "gap22",
    .category = "Math",
    .signature = "softmax(input, dim, dtype=None) -> Tensor",
    .summary = "Exponentials along dim, scaled to add up to 1." KG_SOFTMAX_NAN,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .reach = kg_softmax_reach,
    .torch_baseline = "torch.softmax",
    .cpu_baseline = "onednn",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, dim) : 0",
    KG_OPERATION(softmax),
};
