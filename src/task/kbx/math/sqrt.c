// sqrt(input, *, out=None) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// Condition 1/2; a float32 denormal may be taken for zero.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(0, 9), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -1, 9);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_sqrt_point(*x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 0, 1); }

const kg_task kg_task_kbx_sqrt = {
    KG_POINTWISE_TASK,
    .name = "sqrt",
    .category = "Math",
    .signature = "sqrt(input, *, out=None) -> Tensor",
    .summary = "Square root of each element; NaN below zero.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.sqrt",
    .cpu_baseline = "onednn",
    .c_body = "kg_put(out, i, sqrt(kg_get(input, i)));\n",
    .triton_expr = "tl.sqrt(x)",
};
