// abs(input, *, out=None) -> Tensor
//
// Exact in every dtype.
#include "oracle/oracle.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(-0.25, 1), .wide = KG_LOGSCALE(-20, 15)};
    kg_unary_cases(b, &f);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact(fabs(*x));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, NULL);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_abs = {
    .name = "abs",
    .suite = "kbx",
    .category = "Math",
    .signature = "abs(input, *, out=None) -> Tensor",
    .summary = "Absolute value of each element.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_same,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.abs",
    .cpu_baseline = "onednn",
    .c_body = "kg_put(out, i, fabs(kg_get(input, i)));\n",
    .triton_expr = "tl.abs(x)",
};
