// pow(input, exponent, *, out=None) -> Tensor
//
// As C's pow: anything to the 0 and 1 to anything is 1, a negative number to a fraction NaN. Conditions |y| of x and
// |y log x| of y. Integers to integers stay integers, exactly; negative exponents are not asked there.
//
// PyTorch takes x^0.5 for sqrt(x), which differs from C at -0 and -infinity: no case has those with that exponent.
#include "task/pointwise.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "exponent", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const operands[] = {"input", "exponent", NULL};

static kg_case *add(kg_cases *b, kg_dtype t, kg_fill input, kg_dtype of_exponent, kg_fill exponent) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(17, 65), input);
    kg_set_tensor(c, b->task, "exponent", of_exponent, KG_SHAPE(17, 1), exponent);
    return c;
}

static void numbers(kg_cases *b) {
    static const double y[] = {2, 3, 0.5, -0.5, -1, -2, 0, 1, 1.5, 10};
    const kg_fill base = KG_UNIFORM(0.1, 3);
    for (size_t i = 0; i < sizeof y / sizeof *y; i++)
        kg_set_number(add(b, KG_F32, i % 2 ? base : KG_UNIFORM(-3, 3), KG_F32, base), b->task, "exponent", y[i]);
    kg_set_number(add(b, KG_F16, base, KG_F32, base), b->task, "exponent", 2);
    kg_set_number(add(b, KG_BF16, base, KG_F32, base), b->task, "exponent", -1.5);
    kg_set_number(add(b, KG_F64, base, KG_F32, base), b->task, "exponent", 2.5);
    kg_set_number(add(b, KG_F64, base, KG_F32, base), b->task, "exponent", 2.3);  // which float32 does not hold
    kg_set_number(add(b, KG_I32, KG_INTEGERS(1, 9), KG_F32, base), b->task, "exponent", 1.5);
    kg_set_number(add(b, KG_F32, KG_SPECIALS(0, 2), KG_F32, base), b->task, "exponent", 3);
}

static void values(kg_cases *b) {
    const kg_fill base = KG_UNIFORM(0.1, 3), y = KG_NORMAL(0, 3), whole = KG_INTEGERS(-5, 5);
    add(b, KG_F32, base, KG_F32, y);
    add(b, KG_F32, KG_NORMAL(0, 2), KG_F32, whole);  // negative to odd and even
    add(b, KG_F32, KG_NORMAL(0, 2), KG_F32, KG_INTEGERS(-1, 1));
    add(b, KG_F32, KG_SPECIALS(0, 2), KG_F32, whole);
    add(b, KG_F32, base, KG_F32, KG_SPECIALS(0, 2));
    add(b, KG_F32, KG_NORMAL(0, 2), KG_F32, KG_NORMAL(0, 1));  // NaN below zero
    add(b, KG_F64, base, KG_F64, y);
    add(b, KG_F16, base, KG_F16, KG_NORMAL(0, 2));
    add(b, KG_BF16, base, KG_BF16, KG_NORMAL(0, 2));
    add(b, KG_F32, base, KG_F16, KG_NORMAL(0, 2));
    add(b, KG_I32, KG_INTEGERS(1, 5), KG_F32, y);
    add(b, KG_I32, KG_INTEGERS(-5, 5), KG_I32, KG_INTEGERS(0, 9));
    add(b, KG_I64, KG_INTEGERS(-9, 9), KG_I64, KG_INTEGERS(0, 16));
    add(b, KG_I32, KG_INTEGERS(-5, 5), KG_I64, KG_INTEGERS(0, 9));
    add(b, KG_U8, KG_INTEGERS(0, 3), KG_U8, KG_INTEGERS(0, 5));
}

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    const kg_nary_family f = {.params = operands, .dtypes = dtypes, .fill = KG_UNIFORM(0.2, 3)};
    kg_nary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    numbers(b);
    values(b);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = pow(x[0], x[1]);
    // An exponent that is taken for zero makes 1 of every base.
    if (v != 1 && kg_may_be_zero(x[1])) return (kg_point){v, KG_ANY_ANSWER};
    // A negative base that is taken for zero makes no NaN.
    if (isnan(v) && kg_may_be_zero(x[0]) && !isnan(x[1])) return (kg_point){v, KG_ANY_ANSWER};
    if (!isfinite(v) || x[0] == 0 || x[1] == 0 || !isfinite(x[0])) return kg_point_exact(v);
    const double size = fabs(x[1]) * (1 + fabs(log(fabs(x[0]))));
    kg_point p = kg_point_make(v, isfinite(size) ? size * v : 0);
    if (kg_may_be_zero(x[0])) p.local = INFINITY;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_map(call, ref, 2, operands, at, NULL); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 2); }

const kg_task kg_task_kbx_pow = {
    .name = "pow",
    .suite = "kbx",
    .category = "Math",
    .signature = "pow(input, exponent, *, out=None) -> Tensor",
    .summary = "input to the power exponent, broadcast; exponent is a tensor or a Number.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_broadcast,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.pow",
    .c_body = "kg_put(out, i, pow(kg_get_broadcast(input, out, i), kg_get_broadcast(exponent, out, i)));\n",
};
