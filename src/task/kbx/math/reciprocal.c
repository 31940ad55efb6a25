// reciprocal(input, *, out=None) -> Tensor
//
// A division is one rounding; the reciprocal instructions of GPUs take a few units more.
#include "oracle/oracle.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(3, 1), .wide = KG_LOGSCALE(-12, 12)};
    kg_unary_cases(b, &f);
    return 0;
}

// A denormal may be taken for zero (flush to zero), and then the answer is an infinity.
static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = 1.0 / *x;
    if (!isfinite(v) || v == 0) return kg_point_exact(v);
    kg_point p = kg_point_make(v, v);
    if (fabs(*x) < 0x1p-126) p.local = INFINITY;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    if (kg_map(call, ref, 1, input, at, NULL)) return -1;
    kg_ref_half(call, ref, 1 / KG_LAMBDA);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 1); }

const kg_task kg_task_kbx_reciprocal = {
    .name = "reciprocal",
    .suite = "kbx",
    .category = "Math",
    .signature = "reciprocal(input, *, out=None) -> Tensor",
    .summary = "1 / x of each element; integers are promoted to float32.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.reciprocal",
    .cpu_baseline = "onednn",
    .c_body = "kg_put(out, i, 1.0 / kg_get(input, i));\n",
    .triton_expr = "1.0 / x",
};
