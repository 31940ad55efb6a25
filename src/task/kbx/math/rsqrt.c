// rsqrt(input, *, out=None) -> Tensor
//
// Condition 1/2. Of -0 it is -infinity, as 1 / sqrt(x) has it.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(0.05, 9), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, 0, 9);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = 1 / sqrt(*x);
    return kg_flushed(isfinite(v) ? kg_point_make(v, 0.5 * v) : kg_point_exact(v), *x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 1); }

const kg_task kg_task_kbx_rsqrt = {
    KG_POINTWISE_TASK,
    .name = "rsqrt",
    .category = "Math",
    .signature = "rsqrt(input, *, out=None) -> Tensor",
    .summary = "Reciprocal of the square root of each element; NaN below zero.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.rsqrt",
    .c_body = "kg_put(out, i, 1 / sqrt(kg_get(input, i)));\n",
    .triton_expr = "tl.rsqrt(x)",
};
