// mse_loss(input, target, reduction='mean') -> Tensor
//
// (input - target)^2; the two broadcast. The difference of two given numbers rounds once, its square again: 4 of each.
#include "task/pair_losses.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "target", .kind = KG_P_TENSOR},
    {.name = "reduction", .kind = KG_P_STR, .optional = true, .keyword = true, .has_default = true, .text = "mean"},
    {.name = NULL}};

static int cases(kg_cases *b) {
    static const char *const reductions[] = {"mean", "sum", "none", NULL};
    kg_pair_family f = {
        .input = KG_NORMAL(0.5, 1), .target = KG_NORMAL(0, 1), .reductions = reductions, .broadcast = true};
    kg_pair_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    const kg_tensor d = kg_tensor_contiguous(KG_F32, KG_SHAPE(1027)), e = kg_tensor_contiguous(KG_F64, KG_SHAPE(1027));
    kg_pair_case(b, &f, d, e, "none");
    kg_pair_case(b, &f, d, kg_tensor_contiguous(KG_F16, KG_SHAPE(1027)), "mean");
    f.input = KG_NORMAL(1000, 1);  // close to the target: the difference is what matters
    f.target = KG_NORMAL(1000, 1);
    kg_pair_case(b, &f, d, d, "mean");
    f.input = KG_OUTLIERS(0, 1);
    kg_pair_case(b, &f, d, d, "none");
    f.input = KG_SPECIALS(0, 1);
    kg_pair_case(b, &f, d, d, "none");
    kg_pair_case(b, &f, d, d, "sum");  // NaN
    kg_nan_cases(b);
    return 0;
}

static kg_point term(double x, double y, double w, const void *ctx) {
    (void)w;
    (void)ctx;
    const double d = x - y;
    return (kg_point){d * d, KG_LAMBDA / 2 * d * d};
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pair_oracle(call, ref, term, NULL); }
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_pair_work(t, c, w, 3, 0); }

const kg_task kg_task_kbx_mse_loss = {
    .name = "mse_loss",
    .suite = "kbx",
    .category = "Loss",
    .signature = "mse_loss(input, target, reduction='mean') -> Tensor",
    .summary = "Squared differences, and their mean or sum.",
    .params = params,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_pair_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_pair_reach,
    .torch_baseline = "F.mse_loss",
    .c_body = KG_PAIR_BODY("    const double v = (x - y) * (x - y);\n"),
};
