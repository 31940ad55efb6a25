// cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor
//
// With log p = log_softmax over the classes. Class targets: terms -weight[t] log p[t], 0 for ignore_index; mean divides
// by the sum of the weights that counted. Probability targets (input's shape, floating): -sum_c weight[c] target[c] log
// p[c]; mean divides by the number of samples.
//
// Bounds: src/task/cross_entropies.c.
#include "task/losses.h"
#include "task/shared.h"

int kg_cross_entropy_cases(kg_cases *b) { return kg_class_loss_cases(b, KG_NORMAL(0, 2), KG_LOSS_PROBABILITIES); }

int kg_cross_entropy_oracle(const kg_call *call, kg_ref *ref) {
    return kg_cross_entropy_ref(call, ref, KG_CROSS_ENTROPY_PLAIN);
}

double kg_cross_entropy_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[KG_LOSS_INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

void kg_cross_entropy_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[KG_LOSS_INPUT].tensor);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 3 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const char kg_cross_entropy_body[] = KG_CROSS_ENTROPY_SUM("input", "target", "0.0") "kg_put(out, i, sum);\n";

const kg_task kg_task_kbx_cross_entropy = {
    .name = "cross_entropy",
    .suite = "kbx",
    .category = "Loss",
    .signature = "cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor",
    .summary =
        "Negated logarithm of the softmax at the target classes (or averaged over target probabilities), weighted, and "
        "its mean or sum. NaN where a sample's logits hold NaN or +infinity.",
    .params = kg_params_class_loss,
    .infer = kg_class_loss_infer,
    .oracle = kg_cross_entropy_oracle,
    .work = kg_cross_entropy_work,
    .c_body = kg_cross_entropy_body,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = kg_cross_entropy_cases,
    .reach = kg_cross_entropy_reach,
    .torch_baseline = "F.cross_entropy",
};
