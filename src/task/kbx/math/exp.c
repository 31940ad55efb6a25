// exp(input, *, out=None) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// Condition |x|: rounding x, or x log2(e) on the way to a power of 2, moves exp(x) by u |x| of itself.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_NORMAL(0.5, 2), .wide = KG_LOGSCALE(-12, 7)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -9, 9);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_exp_point(*x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

const kg_task kg_task_kbx_exp = {
    KG_POINTWISE_TASK,
    .name = "exp",
    .category = "Math",
    .signature = "exp(input, *, out=None) -> Tensor",
    .summary = "Exponential of each element.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = kg_work_one_special,
    .torch_baseline = "torch.exp",
    .cpu_baseline = "onednn",
    .c_body = "kg_put(out, i, exp(kg_get(input, i)));\n",
    .triton_expr = "tl.exp(x)",
};
