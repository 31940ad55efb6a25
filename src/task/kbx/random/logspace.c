// logspace(start, end, steps, base=10.0, *, out=None, dtype=None, ...) -> Tensor
//
// base^(start + i (end - start) / (steps - 1)), both ends included; steps 1 is base^start. start and end are numbers or
// 0-dimensional tensors of any dtype; dtype None is float32, whatever theirs is; integer dtypes count towards zero.
// layout, device and requires_grad are no arguments of the operation: they say where and how PyTorch keeps the result.
//
// The exponent rounds by u max(|start|, |end|), which the power multiplies by |ln base|. An integer result whose power
// lies that close to an integer may be one off, except where it is a power of 2 by definition.
#include "oracle/oracle.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "start", .kind = KG_P_TENSOR},
    {.name = "end", .kind = KG_P_TENSOR},
    {.name = "steps", .kind = KG_P_INT},
    {.name = "base", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 10},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { START, END, STEPS, BASE, OUT, DTYPE };

static kg_case *add(kg_cases *b, double start, double end, int64_t steps) {
    kg_case *c = kg_case_add(b);
    kg_set_number(c, b->task, "start", start);
    kg_set_number(c, b->task, "end", end);
    kg_set_int(c, b->task, "steps", steps);
    return c;
}
static kg_case *based(kg_cases *b, kg_case *c, double base) {
    kg_set_float(c, b->task, "base", base);
    return c;
}
static kg_case *typed(kg_cases *b, kg_case *c, kg_dtype t) {
    kg_set_dtype(c, b->task, "dtype", t);
    return c;
}
static kg_case *end_from(kg_cases *b, kg_case *c, const char *param, kg_dtype t) {
    kg_set_tensor(c, b->task, param, t, 0, NULL, kg_dtype_is_float(t) ? KG_UNIFORM(-2, 2) : KG_INTEGERS(-2, 3));
    return c;
}

static void quick(kg_cases *b) {
    static const kg_dtype floats[] = {KG_F16, KG_BF16, KG_F64, KG_F32};
    static const kg_dtype ints[] = {KG_I32, KG_I64, KG_I16, KG_I8, KG_U8};
    static const int64_t lengths[] = {3, 0, 1, 2, 17, 1024, 1025, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, -1.5, 2.25, lengths[i]);
    add(b, 3, -4, 101);
    add(b, 2, 2, 33);
    add(b, -30, 30, 1001);
    add(b, 0, 40, 41);  // past float32's range: inf
    based(b, add(b, -10, 10, 257), 2);
    based(b, add(b, 0.5, 3, 257), 0.125);
    based(b, add(b, -3, 5, 1023), 2.718281828459045);
    based(b, add(b, 0, 5, 33), 1);
    based(b, add(b, 1, 3, 1), 7);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        typed(b, add(b, -1.5, 2.25, 515), floats[i]);
        typed(b, based(b, add(b, 4, -3, 100), 2), floats[i]);
    }
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        typed(b, based(b, add(b, 0, 6, 7), 2), ints[i]);
        typed(b, add(b, ints[i] == KG_U8 ? 0 : -1, 2, 23), ints[i]);
        typed(b, based(b, add(b, 6, 0, 50), 2), ints[i]);
    }
    typed(b, based(b, add(b, 0, 30, 31), 2), KG_I64);
    end_from(b, add(b, -1.5, 2.25, 129), "start", KG_F32);
    end_from(b, add(b, -1.5, 2.25, 129), "end", KG_F32);
    end_from(b, end_from(b, add(b, 0, 0, 129), "start", KG_F64), "end", KG_F32);
    end_from(b, end_from(b, add(b, 0, 0, 129), "start", KG_I64), "end", KG_F16);
    typed(b, end_from(b, end_from(b, add(b, 0, 0, 129), "start", KG_F32), "end", KG_I32), KG_F64);
    // Of one point, which end alone has no say in. (Of more, an end that is copied and not computed is no NaN.)
    end_from(b, add(b, -1.5, 2.25, 1), "start", KG_F32)->args[START].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_case *c = add(b, -1.5, 2.25, 129);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(129), KG_NORMAL(0, 1));
}

static int cases(kg_cases *b) {
    static const int cpu[] = {14, 17, 20, 22, 24};
    if (b->level == KG_TIMED_CUDA)
        for (int e = 12; e <= 27; e++) add(b, -2, 2, (int64_t)1 << e);
    else if (b->level == KG_TIMED_CPU)
        for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++) add(b, -2, 2, (int64_t)1 << cpu[i]);
    else quick(b);
    if (b->level != KG_CASES_FULL) return 0;
    static const int64_t lengths[] = {4, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, -1.5, 2.25, lengths[i]);
    typed(b, based(b, add(b, -20, 20, 4099), 3), KG_F64);
    typed(b, based(b, add(b, -4, 4, 4099), 3), KG_F16);
    typed(b, based(b, add(b, -4, 4, KG_PAST_32_BITS), 3), KG_F16)->large = true;
    return 0;
}

// PyTorch rounds other ends before it begins where the result has integers.
static bool is_whole(const kg_arg *a) { return !a->scalar || a->f == rint(a->f); }

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const int64_t steps = c->args[STEPS].i;
    const kg_arg *dtype = &c->args[DTYPE];
    if (steps < 0 || c->args[START].tensor.ndim || c->args[END].tensor.ndim) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(dtype->s ? (kg_dtype)kg_dtype_parse(dtype->s) : KG_F32, 1, &steps);
    if (!kg_dtype_is_float(c->outs[0].dtype) && !(is_whole(&c->args[START]) && is_whole(&c->args[END]))) return -1;
    return c->outs[0].dtype == KG_BOOL ? -1 : 0;
}

static kg_point whole(double value, double error, double exponent, double base) {
    const bool exact = base == 2 && exponent == rint(exponent);
    if (exact || fabs(value - rint(value)) > error) return kg_point_exact(trunc(value));
    return (kg_point){rint(value), 1};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view from = kg_call_view(call, "start"), to = kg_call_view(call, "end");
    const double start = kg_at(&from, 0), end = kg_at(&to, 0), base = kg_call_arg(call, "base")->f;
    const int64_t last = kg_call_arg(call, "steps")->i - 1;
    const double most = fmax(fabs(start), fabs(end)) * fabs(log(base));
    const kg_dtype t = call->c->outs[0].dtype;
    for (size_t k = 0; k < ref->n; k++) {
        const double part = last > 0 ? (double)ref->index[k] / (double)last : 0;
        const double exponent = ref->index[k] == last && last > 0 ? end : start + (end - start) * part;
        const double value = pow(base, exponent);
        const kg_point p = kg_dtype_is_float(t)
                               ? kg_point_make(value, most * value)
                               : whole(value, 0x1p-24 * KG_LAMBDA * (1 + most) * value, exponent, base);
        ref->value[k] = p.value;
        ref->local[k] = p.local;
        ref->acc[k] = 0;
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_logspace = {
    .name = "logspace",
    .suite = "kbx",
    .category = "Random",
    .signature = "logspace(start, end, steps, base=10.0, *, out=None, dtype=None) -> Tensor",
    .summary = "base to the power of evenly spaced exponents, both ends included.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda start, end, steps, base=10.0, out=None, dtype=None: torch.logspace(start, end, steps, base=base, "
        "out=out, dtype=dtype, device='cuda' if torch.cuda.is_available() else None)",
    .c_body =
        "const double from = kg_number(start), to = kg_number(end), step = steps > 1 ? (to - from) / (double)(steps - 1) : 0;\n"
        "// From the nearer end, so that both are exact.\n"
        "kg_put(out, i, pow(base, i < steps / 2 || steps == 1 ? from + step * (double)i : to - step * (double)(steps - 1 - i)));\n",
};
