// binary_cross_entropy(input, target, weight=None, reduction='mean') -> Tensor
//
// -w (y log x + (1 - y) log(1 - x)), each logarithm no less than -100; input and target have one shape, weight
// broadcasts to it; the mean counts elements, not weights. Inputs lie in [0, 1], as PyTorch demands.
//
// A logarithm errs by a few u of itself, or of 1 where kernels round 1 - x or take a fast logarithm near 1.
#include "task/pair_losses.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "target", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "reduction", .kind = KG_P_STR, .optional = true, .keyword = true, .has_default = true, .text = "mean"},
    {.name = NULL}};

static void weighted(kg_cases *b, kg_case *c, kg_tensor weight) {
    kg_set_strided(c, b->task, "weight", weight, KG_UNIFORM(0.25, 2));
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static int cases(kg_cases *b) {
    static const char *const reductions[] = {"mean", "sum", "none", NULL};
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64};
    kg_pair_family f = {.input = KG_UNIFORM(0.015625, 0.984375), .target = KG_UNIFORM(0, 1), .reductions = reductions};
    kg_pair_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    for (const char *const *r = reductions; *r; r++) {
        weighted(b, kg_pair_case(b, &f, F32(33, 65), F32(33, 65), *r), F32(33, 65));
        weighted(b, kg_pair_case(b, &f, F32(33, 65), F32(33, 65), *r), F32(65));
        weighted(b, kg_pair_case(b, &f, F32(33, 65), F32(33, 65), *r), F32(33, 1));
    }
    weighted(b, kg_pair_case(b, &f, F32(9, 65), F32(9, 65), "none"), kg_tensor_stepped(KG_F32, KG_SHAPE(65), 3));
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        const kg_tensor d = kg_tensor_contiguous(dtypes[i], KG_SHAPE(17, 31));
        f.input = KG_UNIFORM(0.015625, 0.984375);
        f.target = KG_INTEGERS(0, 1);  // labels
        weighted(b, kg_pair_case(b, &f, d, d, "mean"), d);
        f.input = KG_INTEGERS(0, 1);  // log 0: 100
        kg_pair_case(b, &f, d, d, "none");
        f.target = KG_UNIFORM(0, 1);
        kg_pair_case(b, &f, d, d, "none");
    }
    f.input = KG_UNIFORM(0, 0x1p-20);
    kg_pair_case(b, &f, F32(1031), F32(1031), "none");
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    const kg_arg *weight = kg_case_arg(c, t, "weight");
    const kg_tensor *in = &c->args[0].tensor, *target = &c->args[1].tensor;
    kg_tensor all;
    if (kg_pair_infer(t, c) || in->ndim != target->ndim || in->dtype != target->dtype) return -1;
    for (int i = 0; i < in->ndim; i++)
        if (in->shape[i] != target->shape[i]) return -1;
    return weight->absent || weight->none ? 0 : kg_expand(&weight->tensor, in, &all);
}

static kg_point term(double x, double y, double w, const void *ctx) {
    (void)ctx;
    const double one = fmax(log(x), -100), zero = fmax(log1p(-x), -100);
    const double parts = fabs(y) * (fabs(one) + 1) + fabs(1 - y) * (fabs(zero) + 1);
    return (kg_point){-w * (y * one + (1 - y) * zero), KG_LAMBDA / 2 * fabs(w) * parts};
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pair_oracle(call, ref, term, NULL); }
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_pair_work(t, c, w, 8, 2); }

const kg_task kg_task_kbx_binary_cross_entropy = {
    .name = "binary_cross_entropy",
    .suite = "kbx",
    .category = "Loss",
    .signature = "binary_cross_entropy(input, target, weight=None, reduction='mean') -> Tensor",
    .summary = "Cross entropy of probabilities with targets in [0, 1], weighted, and its mean or sum.",
    .params = params,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_pair_reach,
    .torch_baseline = "F.binary_cross_entropy",
    .c_body = KG_PAIR_BODY("    const double one = fmax(log(x), -100.0), zero = fmax(log1p(-x), -100.0);\n"
                           "    double v = -(y * one + (1 - y) * zero);\n"
                           "    if (weight) v *= kg_get_at(weight, kg_broadcast_element(weight, input, k));\n"),
};
