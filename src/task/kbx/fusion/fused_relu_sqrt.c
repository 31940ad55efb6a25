// fused_relu_sqrt(input, inplace=False, out=None) -> Tensor
//
// sqrt(max(0, x)), NaN for NaN. inplace: input holds the result afterwards, as PyTorch's inplace functions do.
#include "task/pointwise.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_NORMAL(0.5, 2), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    static const kg_dtype floats[] = {KG_F32, KG_F16, KG_BF16, KG_F64};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", floats[i], KG_SHAPE(1025), KG_NORMAL(0.5, 2));
        kg_set_bool(c, b->task, "inplace", true);
    }
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), KG_NORMAL(0.5, 2));
    kg_set_bool(c, b->task, "inplace", true);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    return kg_case_arg(c, t, "inplace")->i ? kg_infer_same(t, c) : kg_infer_float(t, c);
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_sqrt_point(kg_relu_point(*x).value);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pointwise_oracle(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 1); }

const kg_task kg_task_kbx_fused_relu_sqrt = {
    .name = "fused_relu_sqrt",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_relu_sqrt(input, inplace=False, out=None) -> Tensor",
    .summary = "Square root of each element, 0 below zero.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda input, inplace=False, out=None: torch.relu_(input).sqrt_() if inplace "
        "else torch.sqrt(torch.relu(input), out=out)",
    .c_body =
        "const double x = kg_get(input, i);\n"
        "kg_put(out, i, sqrt(x > 0 || x != x ? x : 0.0));\n",
    .triton_expr = "tl.sqrt(tl.where(x < 0, 0.0, x))",
};
