// signbit_bitwise_and(input, other) -> (Tensor, Tensor)
//
// sign: of input, bool. bits: input & other. Only integers have an AND: floating input is cut to other's dtype first
// (the published example ANDs float32 with int8 and gets int8). It is held to what that dtype can hold: what a greater
// number or NaN becomes is not defined, so no case has one. Exact.
#include "oracle/oracle.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "other", .kind = KG_P_TENSOR}, {.name = NULL}};
static const char *const outputs[] = {"sign", "bits", NULL};
static const char *const operands[] = {"input", "other", NULL};

static kg_fill values(kg_dtype t) {
    if (kg_dtype_is_float(t)) return KG_NORMAL(-0.5, 20);
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : t == KG_U8 ? KG_INTEGERS(0, 255) : KG_INTEGERS(-100, 100);
}

static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor other) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, values(input.dtype));
    kg_set_strided(c, b->task, "other", other, values(other.dtype));
    return c;
}
static kg_case *line(kg_cases *b, kg_dtype t, kg_dtype other, int64_t n) {
    return add(b, kg_tensor_contiguous(t, 1, &n), kg_tensor_contiguous(other, 1, &n));
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const int64_t lengths[] = {17, 0, 1, 1023, 65537};
    static const kg_dtype floats[] = {KG_F16, KG_BF16, KG_F64};
    static const kg_dtype ints[] = {KG_I32, KG_I64, KG_I16, KG_I8, KG_U8, KG_BOOL};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) line(b, KG_F32, KG_I32, lengths[i]);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) line(b, floats[i], KG_I32, 1025);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        if (ints[i] != KG_U8) line(b, KG_F32, ints[i], 515);  // a negative float has no uint8
        if (ints[i] != KG_BOOL) line(b, ints[i], ints[i], 515);
        if (ints[i] != KG_BOOL) line(b, ints[i], KG_I32, 515);
    }
    line(b, KG_F32, KG_I32, 2051)->args[0].fill = KG_UNIFORM(-2, 2);  // many between -1 and 1: cut to 0, sign or not
    add(b, OF(KG_F32, 33, 65), OF(KG_I32, 65));
    add(b, OF(KG_F32, 33, 1), OF(KG_I8, 1, 65));
    add(b, OF(KG_F32, 65), OF(KG_I32, 33, 65));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), OF(KG_I32, 33, 65));
    add(b, OF(KG_F32, 257), kg_tensor_stepped(KG_I32, KG_SHAPE(257), 3));
    line(b, KG_F32, KG_I32, 9)->args[0].fill = (kg_fill){KG_FILL_CONST, -0.0, 0};
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {3, 255, 1025, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) line(b, KG_F32, KG_I32, lengths[i]);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), kg_tensor_contiguous(KG_I32, 0, NULL));
    add(b, OF(KG_F32, 2, 1, 5, 1), OF(KG_I64, 3, 1, 7));
    add(b, OF(KG_F32, 4, 0), OF(KG_I32, 4, 1));
}
#undef OF

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, values(d));
    kg_set_tensor(c, t, "other", KG_I32, 1, &n, values(KG_I32));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 4, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[0].tensor, *other = &c->args[1].tensor;
    if (kg_infer_broadcast(t, c) || kg_dtype_is_float(other->dtype)) return -1;
    c->n_outs = 2;
    c->outs[1] = c->outs[0];
    if (kg_dtype_is_float(in->dtype)) c->outs[1].dtype = other->dtype;
    c->outs[0] = kg_tensor_contiguous(KG_BOOL, in->ndim, in->shape);
    return 0;
}

static kg_point sign_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact(signbit(*x) != 0);
}
static kg_point bits_at(const double *x, const void *ctx) {
    const bool to_bool = *(const kg_dtype *)ctx == KG_BOOL;
    const int64_t cut = to_bool ? x[0] != 0 : (int64_t)x[0];
    return kg_point_exact((double)(cut & (int64_t)x[1]));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    return ref->out == 0 ? kg_map(call, ref, 1, operands, sign_at, NULL)
                         : kg_map(call, ref, 2, operands, bits_at, &call->c->outs[1].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[KG_U_INT] = 2 * (double)kg_numel(&c->outs[1]);
}

const kg_task kg_task_kbx_signbit_bitwise_and = {
    .name = "signbit_bitwise_and",
    .suite = "kbx",
    .category = "Math",
    .signature = "signbit_bitwise_and(input, other) -> (Tensor, Tensor)",
    .summary =
        "Whether input's sign bit is set; and input & other, where floating input is first cut to other's dtype.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda input, other: (torch.signbit(input), "
        "torch.bitwise_and(input.to(other.dtype) if input.is_floating_point() else input, other))",
    .c_items = "kg_elements(bits) > kg_elements(sign) ? kg_elements(bits) : kg_elements(sign)",
    .c_body =
        "if (i < kg_elements(sign)) kg_put(sign, i, signbit(kg_get(input, i)) != 0);\n"
        "if (i >= kg_elements(bits)) return;\n"
        "const double x = kg_get_broadcast(input, bits, i);\n"
        "const int64_t cut = bits->dtype.code == kDLBool ? x != 0 : (int64_t)x;\n"
        "kg_put(bits, i, (double)(cut & (int64_t)kg_get_broadcast(other, bits, i)));\n",
};
