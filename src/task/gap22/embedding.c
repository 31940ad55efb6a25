// embedding(input, weight) -> Tensor
//
// Row input[...] of weight for every index, whatever input's shape: out has one dimension more. Exact. Indices are
// int64 or int32, in range (PyTorch defines no others) and may repeat.
#include "task/activations.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "weight", .kind = KG_P_TENSOR}, {.name = NULL}};
enum { INDEX, WEIGHT };

static kg_case *add(kg_cases *b, kg_tensor index, kg_tensor weight) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", index, KG_INTEGERS(0, (double)(weight.shape[0] - 1)));
    kg_set_strided(c, b->task, "weight", weight, KG_NORMAL(0.5, 1));
    return c;
}

#define I64(...)  kg_tensor_contiguous(KG_I64, KG_SHAPE(__VA_ARGS__))
#define I32(...)  kg_tensor_contiguous(KG_I32, KG_SHAPE(__VA_ARGS__))
#define F32(m, n) kg_tensor_contiguous(KG_F32, KG_SHAPE(m, n))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, I64(7), F32(5, 3));
    add(b, I64(1), F32(1, 1));
    add(b, I64(0), F32(5, 3));
    add(b, I64(4), F32(5, 0));
    add(b, kg_tensor_contiguous(KG_I64, 0, NULL), F32(9, 17));
    add(b, I64(70), F32(129, 65));
    add(b, I32(70), F32(129, 65));
    add(b, I64(4099), F32(67, 3));
    add(b, I64(5, 13), F32(33, 17));
    add(b, I32(2, 3, 4), F32(11, 33));
    add(b, I64(300), F32(1000, 256));
    add(b, I64(65), kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    add(b, I64(65), kg_tensor_stepped(KG_F32, KG_SHAPE(33, 65), 2));
    add(b, kg_tensor_stepped(KG_I64, KG_SHAPE(43), 3), F32(67, 33));
    add(b, kg_tensor_transposed(KG_I64, KG_SHAPE(9, 14), 0, 1), F32(67, 33));
    add(b, I64(65), F32(64, 33))->args[WEIGHT].fill = KG_SPECIALS(0, 2);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, i % 2 ? I32(41) : I64(41), kg_tensor_contiguous(others[i], KG_SHAPE(67, 33)));
    add(b, I64(31), kg_tensor_contiguous(KG_F64, KG_SHAPE(29, 13)))->args[WEIGHT].fill = KG_BEYOND_FLOAT;
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 127, 1023, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, I64(lengths[i]), F32(515, 9));
    add(b, I32(2, 1, 3, 5), F32(515, 129));
    add(b, I64(40), kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0));
    add(b, I64(9), F32(100003, 7));
    add(b, I64(1000), kg_tensor_contiguous(KG_F16, KG_SHAPE(KG_LOOKED_UP_PAST_32_BITS / 64, 64)))->large = true;
    // More entries than 32 bits count.
    add(b, kg_tensor_expanded(KG_I64, KG_SHAPE(KG_SIDE_PAST_32_BITS, KG_SIDE_PAST_32_BITS), 0),
        kg_tensor_contiguous(KG_F16, KG_SHAPE(40, 1)))
        ->large = true;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    if (b->level == KG_TIMED_CUDA) {  // the published sizes: data/gap22_published.csv
        add(b, I64(2048), kg_tensor_contiguous(KG_F16, KG_SHAPE(8192, 256)));
        add(b, I64(131072), kg_tensor_contiguous(KG_F16, KG_SHAPE(131072, 1024)));
    } else
        for (int64_t n = 512; n <= 131072; n *= 4) add(b, I64(n / 4), F32(n, 256));
    return 0;
}
#undef I64
#undef I32
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *index = &c->args[INDEX].tensor, *weight = &c->args[WEIGHT].tensor;
    if (weight->ndim != 2 || kg_dtype_is_float(index->dtype) || index->ndim + 1 > KG_MAX_NDIM) return -1;
    kg_tensor out = *index;
    out.shape[out.ndim++] = weight->shape[1];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(weight->dtype, out.ndim, out.shape);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view index = kg_call_view(call, "input"), weight = kg_call_view(call, "weight");
    const int64_t width = weight.desc.shape[1];
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t at = kg_offset(&index.desc, ref->index[k] / width), column = ref->index[k] % width;
        const int64_t row = kg_load_int(index.desc.dtype, index.data, at);
        ref->value[k] = kg_at_offset(&weight, row * weight.desc.stride[0] + column * weight.desc.stride[1]);
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

// Only rows that are asked for need be read: with n draws from m rows, m (1 - (1 - 1/m)^n) distinct ones on average.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double written = (double)kg_case_output_bytes(c, t), n = (double)kg_numel(&c->args[INDEX].tensor);
    const double m = (double)c->args[WEIGHT].tensor.shape[0], distinct = m > 1 ? -m * expm1(n * log1p(-1 / m)) : 1;
    const double rows = n > 0 ? written * fmin(1, distinct / n) : 0;
    const double indices = (double)kg_span_bytes(&c->args[INDEX].tensor), all = (double)kg_case_input_bytes(c, t);
    *w = (kg_work){.bytes_read = fmin(rows + indices, all), .bytes_written = written};
}

const kg_task kg_task_gap22_embedding = {
    .name = "embedding",
    .suite = "gap22",
    .category = "Index",
    .signature = "embedding(input, weight) -> Tensor",
    .summary = "The rows of weight that the indices in input name.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "F.embedding",
    .c_body =
        "const int64_t width = kg_dim(weight, 1), row = (int64_t)kg_get(input, i / width);\n"
        "kg_put(out, i, kg_get_at(weight, row * kg_stride(weight, 0) + i % width * kg_stride(weight, 1)));\n",
};
