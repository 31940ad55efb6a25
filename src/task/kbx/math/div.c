// div(input, other, *, rounding_mode=None, out=None) -> Tensor
//
// Integers divided without rounding give float32; with it they stay integers. Those by zero are an error in PyTorch
// and not asked.
#include "task/activations.h"
#include "task/division.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "rounding_mode", .kind = KG_P_STR, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, OTHER, MODE };
static const char *const operands[] = {"input", "other", NULL};

static kg_case *rounded(kg_cases *b, kg_dtype t, const char *mode, kg_fill input, kg_fill other) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(33, 65), input);
    kg_set_tensor(c, b->task, "other", t, KG_SHAPE(65), other);
    kg_set_str(c, b->task, "rounding_mode", mode);
    return c;
}

static void in_mode(kg_cases *b, const char *mode) {
    static const kg_dtype floats[] = {KG_F32, KG_F16, KG_BF16, KG_F64}, ints[] = {KG_I32, KG_I64, KG_I16, KG_I8};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        rounded(b, floats[i], mode, KG_NORMAL(0, 10), KG_NORMAL(0.5, 1.5));
        rounded(b, floats[i], mode, KG_INTEGERS(-60, 60), KG_INTEGERS(1, 7));  // many divide evenly
    }
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        rounded(b, ints[i], mode, KG_INTEGERS(-100, 100), i % 2 ? KG_INTEGERS(-7, -1) : KG_INTEGERS(1, 7));
    rounded(b, KG_U8, mode, KG_INTEGERS(0, 255), KG_INTEGERS(1, 9));
    rounded(b, KG_I64, mode, KG_INTEGERS(16777217, 16777417), KG_INTEGERS(-3, -1));
    kg_set_number(rounded(b, KG_F32, mode, KG_NORMAL(0, 10), KG_NORMAL(0, 1)), b->task, "other", -1.5);
    kg_set_number(rounded(b, KG_I32, mode, KG_INTEGERS(-100, 100), KG_NORMAL(0, 1)), b->task, "other", 2.5);
    rounded(b, KG_F32, mode, KG_LOGSCALE(-20, 20), KG_LOGSCALE(-10, 10));
    rounded(b, KG_I32, mode, KG_INTEGERS(-9, 9), KG_INTEGERS(1, 3))->args[OTHER].tensor.dtype = KG_I64;
}

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    const kg_nary_family f = {
        .params = operands, .dtypes = dtypes, .fill = KG_NORMAL(1.5, 1), .number = 2.5, .mixed = true};
    kg_nary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    in_mode(b, "trunc");
    in_mode(b, "floor");
    rounded(b, KG_F32, "trunc", KG_SPECIALS(0, 5), KG_NORMAL(0.5, 1));
    if (b->level == KG_CASES_FULL) rounded(b, KG_F64, "trunc", KG_SPECIALS(0, 5), KG_NORMAL(0.5, 1));
    rounded(b, KG_F32, "trunc", KG_NORMAL(0, 5), KG_INTEGERS(0, 0));
    kg_set_none(rounded(b, KG_F32, "trunc", KG_NORMAL(0, 5), KG_NORMAL(0.5, 1)), b->task, "rounding_mode");
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_rounding rounding = kg_rounding_of(&c->args[MODE]);
    if (kg_infer_broadcast(t, c) || !kg_may_divide(&c->args[OTHER], c->outs[0].dtype, rounding)) return -1;
    c->outs[0].dtype = kg_quotient_dtype(c->outs[0].dtype, rounding);
    return 0;
}

static kg_point at(const double *x, const void *ctx) { return kg_quotient(x[0], x[1], ctx); }

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_division d = {kg_rounding_of(&call->c->args[MODE]), call->c->outs[0].dtype};
    if (kg_map(call, ref, 2, operands, at, &d)) return -1;
    if (d.rounding == KG_DIV_TRUE) kg_ref_half(call, ref, 1 / KG_LAMBDA);  // by a rounded reciprocal
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_div = {
    .name = "div",
    .suite = "kbx",
    .category = "Math",
    .signature = "div(input, other, *, rounding_mode=None, out=None) -> Tensor",
    .summary = "input / other, broadcast; as it is, cut to an integer ('trunc') or rounded down to one ('floor').",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.div",
    .cpu_baseline = "onednn",
    .c_body =
        "const double q = kg_get_broadcast(input, out, i) / kg_get_broadcast(other, out, i);\n"
        "if (kg_same(rounding_mode, \"trunc\")) kg_put(out, i, trunc(q));\n"
        "else if (kg_same(rounding_mode, \"floor\")) kg_put(out, i, floor(q));\n"
        "else kg_put(out, i, q);\n",
};
