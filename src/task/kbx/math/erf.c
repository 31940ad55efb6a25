// erf(input, *, out=None) -> Tensor
//
// Condition 2 x exp(-x^2) / sqrt(pi). Rational approximations of the kind 1 - p(t) exp(-x^2) are good to a few u of 1
// near 0: 8 u absolute are allowed.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_NORMAL(0, 1), .wide = KG_LOGSCALE(-8, 4)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -4, 4);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = erf(*x);
    if (!isfinite(*x)) return kg_point_exact(v);
    kg_point p = kg_point_make(v, *x * exp(-*x * *x) * M_2_SQRTPI);
    p.local += 8;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_erf = {
    KG_POINTWISE_TASK,
    .name = "erf",
    .category = "Math",
    .signature = "erf(input, *, out=None) -> Tensor",
    .summary = "Error function of each element.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.erf",
    .c_body = "kg_put(out, i, erf(kg_get(input, i)));\n",
    .triton_expr = "libdevice.erf(x)",
};
