// permute_copy(input, dims) -> Tensor
//
// out[i_0, i_1, ...] = input with i_k along dimension dims[k]; dims is a permutation, negative entries from the end.
// The result is always new and contiguous, whatever input's strides. Exact, any dtype.
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "dims", .kind = KG_P_INTS}, {.name = NULL}};
enum { INPUT, DIMS };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, int n, const int64_t *dims) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_ints(c, b->task, "dims", n, dims);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64,  KG_I64, KG_I32, KG_I16,
                                      KG_I8,  KG_U8,   KG_BOOL, KG_C64, KG_C128};
    add(b, F32(3, 5, 7), KG_INTS(1, 2, 0));  // a cycle: not its own inverse
    add(b, F32(9, 9, 9), KG_INTS(2, 0, 1));  // the inverse has the same shape here
    add(b, F32(33, 65), KG_INTS(1, 0));
    add(b, F32(33, 65), KG_INTS(0, 1));
    add(b, F32(33, 65), KG_INTS(-1, -2));
    add(b, F32(1025), KG_INTS(0));
    add(b, F32(2, 4099), KG_INTS(1, 0));
    add(b, F32(4099, 2), KG_INTS(1, 0));
    add(b, F32(1), KG_INTS(-1));
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0, NULL);
    add(b, F32(4, 0, 3), KG_INTS(2, 1, 0));
    add(b, F32(1, 1, 1), KG_INTS(1, 2, 0));
    add(b, F32(5, 7, 3, 11), KG_INTS(3, 2, 1, 0));
    add(b, F32(6, 6, 6, 6), KG_INTS(1, 3, 0, 2));
    add(b, F32(6, 6, 6, 6), KG_INTS(-2, 0, -1, 1));
    add(b, F32(2, 65, 33, 4), KG_INTS(0, 2, 1, 3));
    add(b, F32(2, 3, 4, 5, 6), KG_INTS(4, 0, 3, 1, 2));
    add(b, F32(2, 3, 1, 4, 3, 2), KG_INTS(3, 5, 0, 4, 1, 2));
    add(b, F32(2, 3, 2, 1, 3, 2, 4), KG_INTS(6, 2, 0, 4, 1, 5, 3));
    add(b, F32(2, 2, 2, 2, 2, 2, 2, 2), KG_INTS(7, 0, 6, 1, 5, 2, 4, 3));
    add(b, F32(257, 129), KG_INTS(1, 0));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), KG_INTS(1, 0));  // already in order in memory
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(9, 9, 9), 0, 2), KG_INTS(1, 2, 0));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17, 31), 3), KG_INTS(1, 0));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 29), 0), KG_INTS(1, 0));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(7, 7, 7)), KG_INTS(1, 2, 0));
        if (!kg_exceeds_float(others[i])) continue;
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(9, 9)), KG_INTS(1, 0))->args[INPUT].fill = KG_BEYOND_FLOAT;
    }
    add(b, F32(16, 16, 5), KG_INTS(2, 0, 1))->args[INPUT].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 1025; n = n * 4 + 1) add(b, F32(n, 31), KG_INTS(1, 0));
    add(b, F32(64, 64, 64), KG_INTS(2, 1, 0));
    add(b, F32(31, 1, 33), KG_INTS(2, 0, 1));
    add(b, F32(3, 1, 1, 3), KG_INTS(1, 3, 0, 2));
    add(b, F32(0), KG_INTS(0));
    add(b, kg_tensor_transposed(KG_C64, KG_SHAPE(9, 9, 9), 1, 2), KG_INTS(2, 0, 1));
    add(b, kg_tensor_stepped(KG_F16, KG_SHAPE(9, 9, 9), 2), KG_INTS(1, 2, 0));
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(16, 16, 5)), KG_INTS(2, 0, 1))->args[INPUT].fill = KG_SPECIALS(0, 2);
}
#undef F32

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;  // all dimensions turned round, as the public benchmark has it
    for (int64_t n = cuda ? 8 : 16; n <= (cuda ? 128 : 64); n *= 2)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, n, n, n)), KG_INTS(3, 2, 1, 0));
    return 0;
}

// ---- shapes and oracle ------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const kg_arg *dims = &c->args[DIMS];
    int64_t shape[KG_MAX_NDIM];
    unsigned seen = 0;
    if (dims->n != in->ndim) return -1;
    for (int k = 0; k < in->ndim; k++) {
        const int d = kg_wrap_dim(dims->ints[k], in->ndim);
        if (d < 0 || (seen >> d & 1u)) return -1;
        seen |= 1u << d;
        shape[k] = in->shape[d];
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, shape);
    return 0;
}

// Complex numbers are pairs along one more dimension, which stays the last.
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_arg *dims = kg_call_arg(call, "dims");
    const kg_tensor out = kg_tensor_parts(&call->c->outs[0]);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t to[KG_MAX_NDIM], from[KG_MAX_NDIM];
        kg_coords(&out, ref->index[k], to);
        for (int d = 0; d < dims->n; d++) from[kg_wrap_dim(dims->ints[d], dims->n)] = to[d];
        if (out.ndim > dims->n) from[dims->n] = to[dims->n];
        kg_ref_exact(ref, k, kg_at_offset(&in, kg_offset_at(&in.desc, from)));
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 0, 0); }

const kg_task kg_task_kbx_permute_copy = {
    .name = "permute_copy",
    .suite = "kbx",
    .category = "Index",
    .signature = "permute_copy(input, dims) -> Tensor",
    .summary = "input with its dimensions in the order that dims says, in new contiguous memory.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.permute_copy",
    .c_body =
        "int64_t rest = i, at = 0;\n"
        "for (int k = out->ndim - 1; k >= 0; k--) {\n"
        "    at += rest % out->shape[k] * kg_stride(input, dims->v[k]);\n"
        "    rest /= out->shape[k];\n"
        "}\n"
        "double re, im;\n"
        "kg_get_complex_at(input, at, &re, &im);\n"
        "if (out->dtype.code == kDLComplex) kg_put_complex_at(out, i, re, im);\n"
        "else kg_put(out, i, re);\n",
};
