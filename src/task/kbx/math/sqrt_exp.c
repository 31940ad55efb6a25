// sqrt_exp(input, out=None) -> Tensor
//
// exp(s) of s = sqrt(x), which may be rounded on the way: conditions s / 2 + s.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(0, 9), .wide = KG_LOGSCALE(-12, 9)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -1, 9);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double s = sqrt(*x), v = exp(s);
    return kg_flushed_nan(isfinite(v) ? kg_point_make(v, 1.5 * s * v) : kg_point_exact(v), *x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 2); }

const kg_task kg_task_kbx_sqrt_exp = {
    KG_POINTWISE_TASK,
    .name = "sqrt_exp",
    .category = "Math",
    .signature = "sqrt_exp(input, out=None) -> Tensor",
    .summary = "Exponential of the square root of each element; NaN below zero.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input, out=None: torch.exp(torch.sqrt(input), out=out)",
    .c_body = "kg_put(out, i, exp(sqrt(kg_get(input, i))));\n",
    .triton_expr = "tl.exp(tl.sqrt(x))",
};
