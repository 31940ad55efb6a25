// selu(input, inplace=False) -> Tensor
//
// scale * x for x > 0, else scale * alpha * (exp(x) - 1), with the constants that make mean 0 and variance 1 a fixed
// point. Bounds: kg_selu_point.
#include "task/activations.h"

static kg_case *in_place(kg_cases *b, kg_tensor desc, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", desc, fill);
    kg_set_bool(c, b->task, "inplace", true);
    return c;
}

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(0, 2), .wide = KG_LOGSCALE(-20, 9)};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    in_place(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1025)), f.fill);
    in_place(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), f.fill);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_selu_point(*x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, NULL);
}

const kg_task kg_task_kbx_selu = {
    .name = "selu",
    .suite = "kbx",
    .category = "Activation",
    .signature = "selu(input, inplace=False) -> Tensor",
    .summary = "1.0507 x where x is positive, else 1.0507 * 1.67326 * (exp(x) - 1).",
    .params = kg_params_input_inplace,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_same,
    .oracle = oracle,
    .work = kg_work_one_special,
    .torch_baseline = "F.selu",
    .triton_expr = "1.0507009873554805 * tl.where(x > 0, x, 1.6732632423543772 * (tl.exp(x) - 1.0))",
    .c_body =
        "const double x = kg_get(input, i);\n"
        "kg_put(out, i, 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x)));\n",
};
