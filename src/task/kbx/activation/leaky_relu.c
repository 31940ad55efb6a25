// leaky_relu(input, negative_slope=0.01, inplace=False) -> Tensor
//
// x where x > 0, else negative_slope * x; NaN stays NaN. A slope above 1 or below 0 keeps that meaning.
#include "task/activations.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "negative_slope",
                                   .kind = KG_P_FLOAT,
                                   .optional = true,
                                   .keyword = true,
                                   .has_default = true,
                                   .number = 0.01},
                                  {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};

static kg_case *sloped(kg_cases *b, kg_tensor desc, kg_fill fill, double slope) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", desc, fill);
    kg_set_float(c, b->task, "negative_slope", slope);
    return c;
}

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    static const double slopes[] = {0, 0.2, 1.5, -0.5, 1};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(-0.25, 1), .wide = KG_LOGSCALE(-20, 15)};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++)
        sloped(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(515)), f.fill, slopes[i]);
    for (const kg_dtype *t = dtypes + 1; *t != KG_DTYPES; t++)
        sloped(b, kg_tensor_contiguous(*t, KG_SHAPE(129)), f.fill, 0.3);
    sloped(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(515)), KG_SPECIALS(0, 1), 0);  // 0 * -inf
    kg_set_bool(sloped(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1025)), f.fill, 0.1), b->task, "inplace", true);
    kg_set_bool(sloped(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), f.fill, 0.1), b->task, "inplace", true);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    const double slope = *(const double *)ctx, v = *x > 0 ? *x : slope * *x;
    return *x > 0 || !isfinite(v) ? kg_point_exact(v) : kg_point_make(v, v);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &kg_call_arg(call, "negative_slope")->f);
}

const kg_task kg_task_kbx_leaky_relu = {
    .name = "leaky_relu",
    .suite = "kbx",
    .category = "Activation",
    .signature = "leaky_relu(input, negative_slope=0.01, inplace=False) -> Tensor",
    .summary = "x where x is positive, else negative_slope * x.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_same,
    .oracle = oracle,
    .work = kg_work_one_op,
    .torch_baseline = "F.leaky_relu",
    .c_body =
        "const double x = kg_get(input, i);\n"
        "kg_put(out, i, x > 0 ? x : negative_slope * x);\n",
};
