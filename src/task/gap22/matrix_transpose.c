// matrix_transpose(input) -> Tensor
//
// A matrix's rows as columns, in memory too: the result is contiguous. Exact.
#include "task/activations.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR}, {.name = NULL}};

static void add(kg_cases *b, kg_tensor input) {
    const bool small = input.dtype == KG_BOOL || input.dtype == KG_U8;
    const kg_fill ints = KG_INTEGERS(small ? 0 : -1000, input.dtype == KG_BOOL ? 1 : small ? 255 : 1000);
    kg_set_strided(kg_case_add(b), b->task, "input", input, kg_dtype_is_float(input.dtype) ? KG_NORMAL(0.5, 1) : ints);
}

#define F32(m, n) kg_tensor_contiguous(KG_F32, KG_SHAPE(m, n))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_U8, KG_BOOL};
    add(b, F32(3, 5));
    add(b, F32(1, 1));
    add(b, F32(0, 5));
    add(b, F32(5, 0));
    add(b, F32(1, 1025));
    add(b, F32(1025, 1));
    add(b, F32(4099, 3));
    add(b, F32(3, 4099));
    add(b, F32(33, 65));
    add(b, F32(64, 64));
    add(b, F32(257, 129));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(33, 65), 3));
    add(b, F32(64, 33));
    b->items[b->n - 1].args[0].fill = KG_SPECIALS(0, 2);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(67, 33)));
        if (!kg_exceeds_float(others[i])) continue;
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(29, 13)));  // values that float32 cannot hold
        b->items[b->n - 1].args[0].fill = KG_BEYOND_FLOAT;
    }
}

static int cases(kg_cases *b) {
    switch (b->level) {
    case KG_CASES_QUICK: quick(b); return 0;
    case KG_CASES_FULL:
        quick(b);
        for (int64_t n = 2; n <= 1024; n = 2 * n + 1) add(b, F32(n, 1026 - n));
        add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0));
        add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 1));
        add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(1023, 1025)));
        return 0;
    case KG_TIMED_CUDA:  // the published sizes: data/gap22_published.csv
        for (int64_t n = 1024; n <= 16384; n *= 16) add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(n, n)));
        return 0;
    default:
        for (int64_t n = 128; n <= 4096; n *= 2) add(b, F32(n, n));
        return 0;
    }
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[0].tensor;
    if (in->ndim != 2) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, KG_SHAPE(in->shape[1], in->shape[0]));
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const int64_t rows = in.desc.shape[0];
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k] % rows, j = ref->index[k] / rows;
        ref->value[k] = kg_at_offset(&in, i * in.desc.stride[0] + j * in.desc.stride[1]);
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 0, 0); }

const kg_task kg_task_gap22_matrix_transpose = {
    .name = "matrix_transpose",
    .suite = "gap22",
    .category = "Index",
    .signature = "matrix_transpose(input) -> Tensor",
    .summary = "A matrix with rows and columns exchanged, contiguous.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input: input.t().contiguous()",
    .c_body =
        "const int64_t rows = kg_dim(input, 0);\n"
        "kg_put(out, i, kg_get_at(input, i % rows * kg_stride(input, 0) + i / rows * kg_stride(input, 1)));\n",
};
