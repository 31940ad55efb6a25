// gammaln(input, *, out=None) -> Tensor
//
// Condition |x psi(x)|, which is an absolute error at the zeros 1 and 2; left of 0 what reflection cancels is charged
// too. At the poles (0 and the negative integers) inf, and at both infinities.
#include "oracle/special.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_U8, KG_BOOL, KG_DTYPES};
    kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(2, 3), .wide = KG_LOGSCALE(-20, 20)};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(1031), KG_UNIFORM(0.875, 2.125));  // both zeros
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(1031), KG_UNIFORM(-9, 0));
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(129), KG_INTEGERS(-8, 8));  // poles
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F64, KG_SHAPE(1031), KG_UNIFORM(-9, 9));
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_gammaln_point(*x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, NULL);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 20, 2); }

const kg_task kg_task_kbx_gammaln = {
    .name = "gammaln",
    .suite = "kbx",
    .category = "Math",
    .signature = "gammaln(input, *, out=None) -> Tensor",
    .summary = "Logarithm of the absolute value of the gamma function.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.special.gammaln",
    .c_body = "kg_put(out, i, lgamma(kg_get(input, i)));\n",
};
