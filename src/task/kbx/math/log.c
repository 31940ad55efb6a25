// log(input, *, out=None) -> Tensor
//
// Condition 1 everywhere: 8 u absolute near 1, where fast logarithms of GPUs err so. oneDNN errs by more there (right
// to tf32 only), so it is no baseline.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(0.05, 9), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -1, 9);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = log(*x);
    return kg_flushed(isfinite(v) ? kg_point_make(v, 1) : kg_point_exact(v), *x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_log = {
    KG_POINTWISE_TASK,
    .name = "log",
    .category = "Math",
    .signature = "log(input, *, out=None) -> Tensor",
    .summary = "Natural logarithm of each element; -infinity at 0, NaN below.",
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.log",
    .c_body = "kg_put(out, i, log(kg_get(input, i)));\n",
    .triton_expr = "tl.log(x)",
};
