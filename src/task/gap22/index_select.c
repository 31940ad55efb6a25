// index_select(input, dim, index) -> Tensor
//
// kbx's index_select, timed at the published sizes (data/gap22_published.csv).
#include "task/activations.h"
#include "task/shared.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_index_select_cases(b);
    for (int i = 0; i < 2; i++) {
        kg_case *c = kg_case_add(b);
        const int64_t rows = i ? 65536 : 4096;
        kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(rows, i ? 2048 : 512), KG_NORMAL(0.5, 1));
        kg_set_int(c, b->task, "dim", 0);
        kg_set_tensor(c, b->task, "index", KG_I64, KG_SHAPE(i ? 4096 : 256), KG_INTEGERS(0, (double)(rows - 1)));
    }
    return 0;
}

const kg_task kg_task_gap22_index_select = {
    .name = "index_select",
    .suite = "gap22",
    .category = "Index",
    .signature = "index_select(input, dim, index) -> Tensor",
    .summary = "The slices of input along dim that a one-dimensional index names, in its order.",
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .torch_baseline = "torch.index_select",
    .c_items = "kg_elements(index)",
    KG_OPERATION(index_select),
};
