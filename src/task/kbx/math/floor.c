// floor(input, *, out=None) -> Tensor
//
// Exact in every dtype; but the floor of a negative float32 denormal that is taken for zero is -0.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_NORMAL(-0.25, 3), .wide = KG_LOGSCALE(-12, 30)};
    kg_unary_cases(b, &f);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const bool denormal = *x < 0 && *x > -0x1p-126;
    return (kg_point){floor(*x), denormal ? KG_ANY_ANSWER : 0};
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_floor = {
    KG_POINTWISE_TASK,
    .name = "floor",
    .category = "Math",
    .signature = "floor(input, *, out=None) -> Tensor",
    .summary = "The largest integer not above each element; integers as they are.",
    .cases = cases,
    .infer = kg_infer_same,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.floor",
    .c_body = "kg_put(out, i, floor(kg_get(input, i)));\n",
    .triton_expr = "tl.floor(x)",
};
