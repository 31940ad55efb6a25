// log1p(input, *, out=None) -> Tensor
//
// Condition x / ((1 + x) log1p(x)) is 1 near 0, so log(1 + x) fails there, as it must: being accurate at small x is
// what the operation is for.
#include "oracle/oracle.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_DTYPES};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_UNIFORM(-0.95, 8), .wide = KG_LOGSCALE(-30, 0)};
    kg_unary_cases(b, &f);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = log1p(*x);
    return isfinite(v) ? kg_point_make(v, *x / (1.0 + *x)) : kg_point_exact(v);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, NULL);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_log1p = {
    .name = "log1p",
    .suite = "kbx",
    .category = "Math",
    .signature = "log1p(input, *, out=None) -> Tensor",
    .summary = "Natural logarithm of 1 + x, accurate for small x.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.log1p",
    .cpu_baseline = NULL,
    .c_body = "kg_put(out, i, log1p(kg_get(input, i)));\n",
    .triton_expr = "libdevice.log1p(x)",
};
