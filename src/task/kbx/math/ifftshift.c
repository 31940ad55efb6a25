// ifftshift(input, dim=None) -> Tensor
//
// Along each of the dimensions (all by default) out[i] = input[(i + n / 2) mod n], n / 2 rounded down: exact, any
// dtype.
#include "oracle/reduce.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

static kg_fill fill_of(kg_dtype t) {
    if (kg_dtype_is_float(t)) return KG_NORMAL(0.5, 1);
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : t == KG_U8 ? KG_INTEGERS(0, 255) : KG_INTEGERS(-100, 100);
}
static kg_case *all(kg_cases *b, kg_tensor d) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", d, fill_of(d.dtype));
    return c;
}
static void along(kg_cases *b, kg_tensor d, int n, const int64_t *dims) {
    kg_set_ints(all(b, d), b->task, "dim", n, dims);
}
static void bare(kg_cases *b, kg_tensor d, int64_t dim) {
    kg_case *c = all(b, d);
    kg_set_ints(c, b->task, "dim", 1, &dim);
    c->args[1].scalar = true;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    static const int64_t lengths[] = {17, 0, 1, 2, 3, 1024, 1025, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) all(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
    all(b, F32(33, 65));
    all(b, F32(32, 65));
    all(b, F32(3, 5, 7, 4));
    bare(b, F32(33, 65), 0);
    bare(b, F32(33, 65), -1);
    bare(b, F32(5, 7, 9), 1);
    along(b, F32(33, 65), KG_INTS(0));
    along(b, F32(5, 7, 9), KG_INTS(0, 2));
    along(b, F32(5, 7, 9), KG_INTS(-1, 0));
    along(b, F32(5, 7, 9), KG_INTS(2, 1, 0));
    kg_set_none(all(b, F32(5, 8)), b->task, "dim");
    all(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    bare(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), 1);
    all(b, F32(4, 0, 3));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        all(b, kg_tensor_contiguous(others[i], KG_SHAPE(31, 33)));
        if (!kg_exceeds_float(others[i])) continue;
        all(b, kg_tensor_contiguous(others[i], KG_SHAPE(131)))->args[0].fill = KG_BEYOND_FLOAT;
    }
    all(b, F32(1031))->args[0].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {4, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) all(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
    all(b, F32(2, 1, 3, 1, 5, 7));
    all(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0));
    along(b, kg_tensor_transposed(KG_F16, KG_SHAPE(5, 64, 31), 0, 2), KG_INTS(0, 2));
    bare(b, kg_tensor_contiguous(KG_I64, KG_SHAPE(5, 8, 3)), -2);
}
#undef F32

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, fill_of(d));
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
    if (kg_reduced_dims(&c->args[1], c->args[0].tensor.ndim) < 0) return -1;
    return kg_infer_same(t, c);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_tensor *out = &call->c->outs[0];
    const int mask = kg_reduced_dims(kg_call_arg(call, "dim"), out->ndim);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM];
        kg_coords(out, ref->index[k], at);
        for (int d = 0; d < out->ndim; d++)
            if (mask >> d & 1) at[d] = (at[d] + out->shape[d] / 2) % out->shape[d];
        ref->value[k] = kg_at_offset(&in, kg_offset_at(&in.desc, at));
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

const kg_task kg_task_kbx_ifftshift = {
    .name = "ifftshift",
    .suite = "kbx",
    .category = "Math",
    .signature = "ifftshift(input, dim=None) -> Tensor",
    .summary = "Moves the middle of each dimension to its start: the inverse of fftshift.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .torch_baseline = "torch.fft.ifftshift",
    .c_body =
        "int64_t rest = i, at = 0;\n"
        "for (int d = out->ndim - 1; d >= 0; d--) {\n"
        "    const int64_t n = kg_dim(out, d);\n"
        "    bool moved = !dim || dim->n == 0;\n"
        "    for (int k = 0; dim && k < dim->n; k++) moved = moved || (dim->v[k] + out->ndim) % out->ndim == d;\n"
        "    at += (rest % n + (moved ? n / 2 : 0)) % n * kg_stride(input, d);\n"
        "    rest /= n;\n"
        "}\n"
        "kg_put(out, i, kg_get_at(input, at));\n",
};
