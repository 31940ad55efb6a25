// mul(input) -> Tensor
//
// 2 * input: the study's operator of that name. Exact, but for overflow.
#include "task/activations.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR}, {.name = NULL}};

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    if (b->level == KG_TIMED_CUDA) {
        for (int64_t n = 4096; n <= 67108864; n *= 16384)
            kg_set_tensor(kg_case_add(b), b->task, "input", KG_F16, KG_SHAPE(n), KG_NORMAL(0.5, 1));
        return 0;
    }
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(0.5, 1), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    return 0;
}

static kg_point twice(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact(2 * *x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    return kg_map(call, ref, 1, (const char *const[]){"input"}, twice, NULL);
}

const kg_task kg_task_gap22_mul = {
    .name = "mul",
    .suite = "gap22",
    .category = "Math",
    .signature = "mul(input) -> Tensor",
    .summary = "Twice the input.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_same,
    .oracle = oracle,
    .work = kg_work_one_op,
    .torch_baseline = "lambda input: input * 2",
    .triton_expr = "x * 2",
    .c_body = "kg_put(out, i, 2 * kg_get(input, i));\n",
};
