// cos(input, *, out=None) -> Tensor
//
// Condition x sin x: at large x the answer is that of a neighbour of x, and only a full range reduction gets it.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_NORMAL(0, 4), .wide = KG_LOGSCALE(-12, 10)};
    kg_unary_cases(b, &f);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = cos(*x);
    return isnan(v) ? kg_point_exact(v) : kg_point_make(v, *x * sin(*x));
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_cos = {
    KG_POINTWISE_TASK,
    .name = "cos",
    .category = "Math",
    .signature = "cos(input, *, out=None) -> Tensor",
    .summary = "Cosine of each element, in radians; NaN at the infinities.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.cos",
    .c_body = "kg_put(out, i, cos(kg_get(input, i)));\n",
    .triton_expr = "libdevice.cos(x)",
};
