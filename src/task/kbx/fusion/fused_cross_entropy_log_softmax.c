// fused_cross_entropy_log_softmax(input, target, dim=1, weight=None, ignore_index=-100, reduction='mean',
//     label_smoothing=0.0) -> Tensor
//
// cross_entropy(log_softmax(input, dim), target, ...) in PyTorch's words: with log p = log_softmax over the classes
// (the logarithm of a softmax is its own), terms -weight[t] log p[t], 0 for ignore_index; label smoothing s takes for
// every target t the probabilities (1 - s) [c = t] + s / C. mean divides by the sum of the targets' weights.
// Probability targets have input's shape; their mean counts samples. dim is only asked where it names the classes'
// dimension, in one of its spellings: for others PyTorch's composition normalises twice, over different dimensions,
// which the text does not say.
//
// Bounds: src/task/cross_entropies.c.
#include "task/losses.h"
#include "task/shared.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "target", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    KG_LOSS_WEIGHT,
    KG_LOSS_IGNORE_INDEX,
    KG_LOSS_REDUCTION,
    KG_LOSS_SMOOTHING,
    {.name = NULL}};
enum { DIM = 2 };

static kg_case *along(kg_cases *b, kg_tensor input, int64_t dim) {
    kg_case *c = kg_class_loss_case(b, KG_NORMAL(0, 2), input);
    kg_set_int(c, b->task, "dim", dim);
    return c;
}

static int cases(kg_cases *b) {
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
    const kg_fill fill = KG_NORMAL(0, 2);
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_class_loss_cases(b, fill, KG_LOSS_PROBABILITIES | KG_LOSS_SMOOTHED);
        for (size_t i = 0; i < b->n; i++)
            if (b->items[i].args[KG_LOSS_INPUT].tensor.ndim == 1) kg_set_int(&b->items[i], b->task, "dim", 0);
        along(b, F32(33, 10), -1);
        along(b, F32(3, 5, 7), -2);
        along(b, F32(3, 5, 7), 1);
        along(b, F32(17), -1);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 4096; n <= (cuda ? 8388608 : 131072); n *= 2) kg_class_loss_case(b, fill, F32(n, 128));
    return 0;
#undef F32
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[KG_LOSS_INPUT].tensor;
    if (in->ndim < 1 || kg_wrap_dim(c->args[DIM].i, in->ndim) != kg_class_dim(in)) return -1;
    return kg_class_loss_infer(t, c);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_cross_entropy_ref(call, ref, KG_CROSS_ENTROPY_TWICE); }

const kg_task kg_task_kbx_fused_cross_entropy_log_softmax = {
    .name = "fused_cross_entropy_log_softmax",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_cross_entropy_log_softmax(input, target, dim=1, weight=None, ignore_index=-100, reduction='mean', "
        "label_smoothing=0.0) -> Tensor",
    .summary =
        "Cross entropy of the softmax of input along its classes: at the target classes or averaged over target "
        "probabilities, weighted, smoothed, and its mean or sum. NaN where a sample's logits hold NaN or +infinity.",
    .params = params,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = kg_cross_entropy_work,
    .reach = kg_cross_entropy_reach,
    .torch_baseline =
        "lambda input, target, dim=1, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0: "
        "F.cross_entropy(F.log_softmax(input, dim), target, weight, ignore_index=ignore_index, reduction=reduction, "
        "label_smoothing=label_smoothing)",
    .c_body = KG_CROSS_ENTROPY_SUM("input", "target", "label_smoothing") "kg_put(out, i, sum);\n",
};
