// cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor
//
// kbx's cross_entropy, timed at the published sizes (data/gap22_published.csv).
#include "task/losses.h"
#include "task/shared.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_cross_entropy_cases(b);
    for (int i = 0; i < 2; i++) {
        kg_case *c = kg_case_add(b);
        const int64_t n = i ? 4096 : 256, classes = i ? 32768 : 1024;
        kg_set_tensor(c, b->task, "input", KG_F32, KG_SHAPE(n, classes), KG_NORMAL(0, 2));
        kg_set_tensor(c, b->task, "target", KG_I64, KG_SHAPE(n), KG_INTEGERS(0, (double)(classes - 1)));
    }
    return 0;
}

const kg_task kg_task_gap22_cross_entropy = {
    .name = "cross_entropy",
    .suite = "gap22",
    .category = "Loss",
    .signature = "cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor",
    .summary =
        "Negated logarithm of the softmax at the target classes (or averaged over target probabilities), weighted, and "
        "its mean or sum. NaN where a sample's logits hold NaN or +infinity.",
    .params = kg_params_class_loss,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_class_loss_infer,
    .oracle = kg_cross_entropy_oracle,
    .work = kg_cross_entropy_work,
    .reach = kg_cross_entropy_reach,
    .torch_baseline = "F.cross_entropy",
    .c_body = kg_cross_entropy_body,
};
