// chebyshev_polynomial_t(input, n, *, out=None) -> Tensor
//
// T_n(x), broadcast; n is a tensor or a Number, of any dtype, and counts towards zero (2.7 is 2); negative n give 0.
// float32, float64 and integers, as PyTorch has it (2.11). Conditions in oracle/special.c.
//
// Not in the cases: infinities (T_3(inf) is inf - inf by the recurrence). T_n(NaN) is NaN for n >= 1, in float64 only:
// PyTorch's vectorised float32 on the CPU gives numbers that depend on what ran before.
#include "oracle/special.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "n", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
static const char *const operands[] = {"input", "n", NULL};

static kg_case *add(kg_cases *b, kg_tensor x, kg_fill fx, kg_tensor n, kg_fill fn) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", x, fx);
    kg_set_strided(c, b->task, "n", n, fn);
    return c;
}
static kg_case *number(kg_cases *b, kg_tensor x, kg_fill fx, double n) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", x, fx);
    kg_set_number(c, b->task, "n", n);
    return c;
}
static kg_tensor of(kg_dtype t, int64_t n) { return kg_tensor_contiguous(t, 1, &n); }

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype ints[] = {KG_I32, KG_I64, KG_U8, KG_BOOL};
    const kg_fill x = KG_UNIFORM(-1.125, 1.125), n = KG_INTEGERS(0, 12);
    add(b, F32(17), x, F32(17), n);
    add(b, F32(0), x, F32(0), n);
    add(b, F32(1), x, F32(1), KG_INTEGERS(2, 9));
    add(b, F32(1023), x, F32(1023), n);
    add(b, F32(65537), x, F32(65537), n);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), x, F32(33, 65), n);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), x, F32(257), n);
    add(b, F32(33, 65), x, F32(65), n);
    add(b, F32(33, 1), x, F32(1, 65), n);
    add(b, F32(65), x, F32(33, 1), n);
    add(b, F32(129), x, kg_tensor_contiguous(KG_F32, 0, NULL), KG_INTEGERS(3, 9));
    add(b, F32(1031), KG_UNIFORM(-1, 1), F32(1031), KG_INTEGERS(0, 40));
    add(b, F32(1031), KG_UNIFORM(0.96875, 1.03125), F32(1031), KG_INTEGERS(6, 30));  // both sides of 1
    add(b, F32(131), KG_UNIFORM(-0.9375, 0.9375), F32(131), KG_INTEGERS(1030, 1600));
    add(b, F32(515), KG_UNIFORM(-20, 20), F32(515), KG_INTEGERS(0, 9));
    add(b, F32(515), x, F32(515), KG_UNIFORM(-3, 9));   // no integers, and negative ones
    add(b, F32(515), KG_INTEGERS(-3, 3), F32(515), n);  // 1, -1 and 0 among them
    for (int64_t degree = 0; degree < 9; degree++) number(b, F32(131), x, (double)degree);
    number(b, F32(131), x, -2);
    number(b, F32(131), x, 5.75);
    add(b, of(KG_F64, 1025), x, of(KG_F64, 1025), KG_INTEGERS(0, 40));
    add(b, F32(515), x, of(KG_I64, 515), n);
    add(b, F32(515), x, of(KG_I32, 515), n);
    add(b, of(KG_F32, 515), x, of(KG_F64, 515), n);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        const bool boolean = ints[i] == KG_BOOL;
        add(b, of(ints[i], 515), boolean || ints[i] == KG_U8 ? KG_INTEGERS(0, boolean ? 1 : 9) : KG_INTEGERS(-9, 9),
            of(ints[i], 515), KG_INTEGERS(0, boolean ? 1 : 7));
    }
    number(b, of(KG_F64, 131), (kg_fill){KG_FILL_CONST, NAN, 0}, 1);
    number(b, of(KG_F64, 131), (kg_fill){KG_FILL_CONST, NAN, 0}, 9);
    number(b, of(KG_F32, 131), (kg_fill){KG_FILL_CONST, NAN, 0}, 0);  // 1
    kg_case *c = add(b, F32(3, 43), x, F32(3, 43), n);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(3, 43), x);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    const kg_fill x = KG_UNIFORM(-1.125, 1.125), n = KG_INTEGERS(0, 12);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        add(b, of(KG_F32, lengths[i]), x, of(KG_F32, lengths[i]), n);
    add(b, F32(2, 1, 5, 1), x, F32(3, 1, 7), n);
    add(b, F32(4, 0), x, F32(4, 1), n);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), x, F32(19, 129), n);
    add(b, of(KG_F64, 4099), KG_UNIFORM(-3, 3), of(KG_I64, 4099), KG_INTEGERS(-1, 20));
}
#undef F32

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, KG_UNIFORM(-1, 1));
    kg_set_number(c, t, "n", 5);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 2, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_infer_broadcast(t, c)) return -1;
    c->outs[0].dtype = kg_float_of(c->outs[0].dtype);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_chebyshev_t_point(x[0], x[1]);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_map(call, ref, 2, operands, at, NULL); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 10, 0); }

const kg_task kg_task_kbx_chebyshev_polynomial_t = {
    .name = "chebyshev_polynomial_t",
    .suite = "kbx",
    .category = "Math",
    .signature = "chebyshev_polynomial_t(input, n, *, out=None) -> Tensor",
    .summary = "Chebyshev polynomial of the first kind, of degree n, broadcast.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.special.chebyshev_polynomial_t",
    .c_body =
        "const double x = kg_get_broadcast(input, out, i);\n"
        "const int64_t degree = (int64_t)kg_get_broadcast(n, out, i);\n"
        "double before = 1, t = x;\n"
        "for (int64_t k = 1; k < degree; k++) {\n"
        "    const double next = 2 * x * t - before;\n"
        "    before = t;\n"
        "    t = next;\n"
        "}\n"
        "kg_put(out, i, degree < 0 ? 0 : degree == 0 ? 1 : t);\n",
};
