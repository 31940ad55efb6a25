// kl_div(input, target, reduction='batchmean', log_target=False) -> Tensor
//
// target (log target - input), 0 where target is 0; with log_target, exp(target) (target - input). input holds
// logarithms; the two broadcast. batchmean divides the sum by input's first dimension (1 when it has none).
//
// Kernels may subtract target log target and target input, so both parts are charged.
#include "task/pair_losses.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "target", .kind = KG_P_TENSOR},
                                  {.name = "reduction",
                                   .kind = KG_P_STR,
                                   .optional = true,
                                   .keyword = true,
                                   .has_default = true,
                                   .text = "batchmean"},
                                  {.name = "log_target", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};

static int cases(kg_cases *b) {
    static const char *const reductions[] = {"batchmean", "sum", "none", "mean", NULL};
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64};
    const kg_tensor line = kg_tensor_contiguous(KG_F32, KG_SHAPE(257));
    kg_pair_family f = {.input = KG_UNIFORM(-8, -0.5),
                        .target = KG_UNIFORM(0, 1),
                        .reductions = reductions,
                        .broadcast = true,
                        .row = 1024};
    kg_pair_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (const char *const *r = reductions; *r; r++) {
            const kg_tensor d = kg_tensor_contiguous(dtypes[i], KG_SHAPE(33, 65));
            f.target = KG_UNIFORM(-6, 0.5);
            kg_set_bool(kg_pair_case(b, &f, d, d, *r), b->task, "log_target", true);
            f.target = KG_INTEGERS(0, 2);  // 0 log 0 is 0
            kg_pair_case(b, &f, d, d, *r);
        }
    f.target = KG_UNIFORM(-6, 0.5);  // no logarithm of a negative number: NaN
    kg_pair_case(b, &f, line, line, "none");
    f.input = KG_SPECIALS(-2, 1);
    f.target = KG_UNIFORM(0.125, 1);
    kg_pair_case(b, &f, line, line, "none");
    kg_nan_cases(b);
    return 0;
}

static kg_point term(double x, double y, double w, const void *ctx) {
    (void)w;
    if (ctx) {
        const double e = exp(y);
        return (kg_point){e * (y - x), KG_LAMBDA / 2 * e * (fabs(y) + fabs(x) + fabs(y * (y - x)))};
    }
    const double own = y == 0 ? 0 : y * log(y), value = own - y * x;
    return (kg_point){value, isfinite(value) ? KG_LAMBDA / 2 * (fabs(own) + fabs(y) + fabs(y * x)) : 0};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_arg *log_target = kg_call_arg(call, "log_target");
    return kg_pair_oracle(call, ref, term, log_target->i ? log_target : NULL);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_pair_work(t, c, w, 4, 1); }

const kg_task kg_task_kbx_kl_div = {
    .name = "kl_div",
    .suite = "kbx",
    .category = "Loss",
    .signature = "kl_div(input, target, reduction='batchmean', log_target=False) -> Tensor",
    .summary = "Pointwise Kullback-Leibler divergence of targets from log-probabilities, and its mean or sum.",
    .params = params,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_pair_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_pair_reach,
    .torch_baseline =
        "lambda input, target, reduction='batchmean', log_target=False: "
        "F.kl_div(input, target, reduction=reduction, log_target=log_target)",
    .c_body = KG_PAIR_BODY("    const double v = log_target ? exp(y) * (y - x) : (y == 0 ? 0 : y * log(y)) - y * x;\n"),
};
