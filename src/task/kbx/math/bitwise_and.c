// bitwise_and(input, other, *, out=None) -> Tensor
//
// Integers and bool, broadcast and promoted; a narrower operand is extended with its sign. Exact.
#include "task/activations.h"

static const kg_dtype dtypes[] = {KG_I32, KG_I64, KG_I16, KG_I8, KG_U8, KG_BOOL, KG_DTYPES};
static const char *const operands[] = {"input", "other", NULL};

// Every bit of the dtype varies.
static kg_fill bits(kg_dtype t) {
    switch (t) {
    case KG_BOOL: return KG_INTEGERS(0, 1);
    case KG_U8: return KG_INTEGERS(0, 255);
    case KG_I8: return KG_INTEGERS(-128, 127);
    case KG_I16: return KG_INTEGERS(-32768, 32767);
    default: return KG_INTEGERS(-2147483648.0, 2147483647);
    }
}

static void add(kg_cases *b, kg_tensor input, kg_tensor other) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, bits(input.dtype));
    kg_set_strided(c, b->task, "other", other, bits(other.dtype));
}

#define I32(...) kg_tensor_contiguous(KG_I32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const int64_t lengths[] = {17, 0, 1, 1023, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, I32(lengths[i]), I32(lengths[i]));
    add(b, I32(2, 3, 5, 7), I32(2, 3, 5, 7));
    add(b, I32(33, 65), I32(65));
    add(b, I32(33, 1), I32(1, 65));
    add(b, I32(65), I32(33, 65));
    add(b, I32(33, 65), kg_tensor_contiguous(KG_I32, 0, NULL));
    add(b, kg_tensor_transposed(KG_I32, KG_SHAPE(33, 65), 0, 1), I32(33, 65));
    add(b, I32(257), kg_tensor_stepped(KG_I32, KG_SHAPE(257), 3));
    for (const kg_dtype *t = dtypes + 1; *t != KG_DTYPES; t++) {
        add(b, kg_tensor_contiguous(*t, KG_SHAPE(1025)), kg_tensor_contiguous(*t, KG_SHAPE(1025)));
        add(b, I32(515), kg_tensor_contiguous(*t, KG_SHAPE(515)));  // promoted
    }
    add(b, kg_tensor_contiguous(KG_I8, KG_SHAPE(515)), kg_tensor_contiguous(KG_U8, KG_SHAPE(515)));  // int16
    add(b, I32(3, 43), I32(3, 43));
    kg_set_tensor(&b->items[b->n - 1], b->task, "out", KG_I32, KG_SHAPE(3, 43), KG_NORMAL(0, 1));
    // Near 2^52: a detour through float32 loses the low bits.
    add(b, kg_tensor_contiguous(KG_I64, KG_SHAPE(131)), kg_tensor_contiguous(KG_I64, KG_SHAPE(131)));
    for (int k = 0; k < 2; k++) b->items[b->n - 1].args[k].fill = KG_INTEGERS(4503599627370496.0, 4503600627370495.0);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {3, 255, 1025, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, I32(lengths[i]), I32(lengths[i]));
    add(b, kg_tensor_contiguous(KG_I32, 0, NULL), kg_tensor_contiguous(KG_I32, 0, NULL));
    add(b, I32(2, 1, 5, 1), I32(3, 1, 7));
    add(b, I32(4, 0), I32(4, 1));
    add(b, kg_tensor_expanded(KG_I32, KG_SHAPE(19, 129), 0), I32(19, 129));
    for (const kg_dtype *t = dtypes + 1; *t != KG_DTYPES; t++)
        add(b, kg_tensor_contiguous(*t, KG_SHAPE(9, 31)), kg_tensor_contiguous(KG_I64, KG_SHAPE(31)));
}
#undef I32

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    for (int k = 0; operands[k]; k++) kg_set_tensor(c, t, operands[k], d, 1, &n, bits(d));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_I32, 3, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact((double)((int64_t)x[0] & (int64_t)x[1]));
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_map(call, ref, 2, operands, at, NULL); }

const kg_task kg_task_kbx_bitwise_and = {
    .name = "bitwise_and",
    .suite = "kbx",
    .category = "Math",
    .signature = "bitwise_and(input, other, *, out=None) -> Tensor",
    .summary = "The bits that input and other have in common, broadcast; for bool, the logical AND.",
    .params = kg_params_mul,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_broadcast,
    .oracle = oracle,
    .work = kg_work_one_op,
    .torch_baseline = "torch.bitwise_and",
    .c_body =
        "const int64_t a = (int64_t)kg_get_broadcast(input, out, i), b = (int64_t)kg_get_broadcast(other, out, i);\n"
        "kg_put(out, i, (double)(a & b));\n",
};
