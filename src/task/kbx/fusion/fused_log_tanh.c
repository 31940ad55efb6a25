// fused_log_tanh(input, out=None) -> Tensor
//
// tanh(l) of l = log(x), which is (x^2 - 1) / (x^2 + 1). l may be rounded on the way: conditions 1 + |l| times 1 -
// tanh(l)^2; near x = 1 the slack of kg_tanh_point.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(0.02, 4), .wide = KG_LOGSCALE(-12, 12)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -1, 9);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double l = log(*x), v = tanh(l);
    if (!isfinite(l)) return kg_flushed_nan(kg_point_exact(v), *x);
    kg_point p = kg_point_make(v, (1 + fabs(l)) * (1 - v) * (1 + v));
    p.local += 4;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 2); }

const kg_task kg_task_kbx_fused_log_tanh = {
    KG_POINTWISE_TASK,
    .name = "fused_log_tanh",
    .category = "Fusion",
    .signature = "fused_log_tanh(input, out=None) -> Tensor",
    .summary = "Hyperbolic tangent of the natural logarithm of each element; -1 at 0, NaN below.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input, out=None: torch.tanh(torch.log(input), out=out)",
    .c_body = "kg_put(out, i, tanh(log(kg_get(input, i))));\n",
    .triton_expr = "libdevice.tanh(tl.log(x))",
};
