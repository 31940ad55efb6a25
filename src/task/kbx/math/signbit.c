// signbit(input, *, out=None) -> Tensor
//
// bool, exact: true for negative numbers, -0 and -infinity. No NaN here has its sign bit set; unsigned integers and
// bool are false.
#include "task/pointwise.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64,  KG_I64,   KG_I32,
                                      KG_I16, KG_I8,  KG_U8,   KG_BOOL, KG_DTYPES};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(0, 1), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    kg_out_dtype(b, KG_BOOL);
    kg_small_integers(b, -1, 1);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    kg_infer_float(t, c);
    c->outs[0].dtype = KG_BOOL;
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact(signbit(*x) != 0);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[KG_U_INT] = (double)kg_numel(&c->outs[0]);
}

const kg_task kg_task_kbx_signbit = {
    KG_POINTWISE_TASK,
    .name = "signbit",
    .category = "Math",
    .signature = "signbit(input, *, out=None) -> Tensor",
    .summary = "Whether the sign bit of each element is set, which it is for -0.",
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.signbit",
    .c_body = "kg_put(out, i, signbit(kg_get(input, i)) != 0);\n",
};
