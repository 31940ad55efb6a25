// asin(input, *, out=None) -> Tensor
//
// Condition x / sqrt(1 - x^2), which has no bound at the ends. There 1 - |x| is exact, and kernels that use it err by
// nothing much; those by way of 1 - x^2 err by sqrt(u): the slope is cut off at that.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(-1, 1), .wide = KG_LOGSCALE(-20, 0)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -2, 2);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = asin(*x), slope = 1 / sqrt((1 - *x) * (1 + *x));
    return isnan(v) ? kg_point_exact(v) : kg_flushed(kg_point_make(v, fabs(*x) == 1 ? 0 : *x * fmin(slope, 2048)), *x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_asin = {
    KG_POINTWISE_TASK,
    .name = "asin",
    .category = "Math",
    .signature = "asin(input, *, out=None) -> Tensor",
    .summary = "Arcsine of each element, in radians; NaN outside of [-1, 1].",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.asin",
    .c_body = "kg_put(out, i, asin(kg_get(input, i)));\n",
    .triton_expr = "libdevice.asin(x)",
};
