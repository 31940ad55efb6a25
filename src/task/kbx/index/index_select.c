// index_select(input, dim, index) -> Tensor
//
// out has input's shape with dimension dim replaced by index's length; exact. Indices are int64 or int32, in range
// (PyTorch defines no others) and may repeat.
#include "oracle/oracle.h"
#include "task/shared.h"

const kg_param kg_index_select_params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                           {.name = "dim", .kind = KG_P_INT},
                                           {.name = "index", .kind = KG_P_TENSOR},
                                           {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

static void add(kg_cases *b, kg_tensor input, int64_t dim, kg_dtype index, int64_t n) {
    kg_case *c = kg_case_add(b);
    const int d = kg_wrap_dim(dim, input.ndim);
    const bool ints = !kg_dtype_is_float(input.dtype);
    const int64_t length = input.ndim ? input.shape[d] : 1;
    kg_set_strided(
        c, b->task, "input", input,
        ints ? KG_INTEGERS(input.dtype == KG_BOOL || input.dtype == KG_U8 ? 0 : -100, input.dtype == KG_BOOL ? 1 : 100)
             : KG_NORMAL(0.5, 1));
    kg_set_int(c, b->task, "dim", dim);
    kg_set_tensor(c, b->task, "index", index, 1, &n, KG_INTEGERS(0, (double)(length > 0 ? length - 1 : 0)));
}

// Every third entry of a longer index.
static void add_stepped_index(kg_cases *b, int64_t rows, int64_t n) {
    add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(rows, 33)), 0, KG_I64, n);
    kg_set_strided(&b->items[b->n - 1], b->task, "index", kg_tensor_stepped(KG_I64, KG_SHAPE(n), 3),
                   KG_INTEGERS(0, (double)(rows - 1)));
}

// Values that float32 cannot hold.
static void add_beyond_float(kg_cases *b, kg_dtype t) {
    add(b, kg_tensor_contiguous(t, KG_SHAPE(29, 13)), 0, KG_I64, 31);
    b->items[b->n - 1].args[0].fill = KG_BEYOND_FLOAT;
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_U8, KG_BOOL};
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
    add(b, F32(129, 65), 0, KG_I64, 70);
    add(b, F32(129, 65), 1, KG_I64, 31);
    add(b, F32(129, 65), -1, KG_I32, 200);
    add(b, F32(129, 65), -2, KG_I32, 1);
    add(b, F32(129, 65), 0, KG_I64, 0);
    add(b, F32(1000), 0, KG_I64, 1025);
    add(b, F32(5, 7, 3, 11), 2, KG_I64, 17);
    add(b, F32(5, 0), 0, KG_I64, 3);
    add(b, F32(1, 1), 0, KG_I64, 1);
    add(b, F32(300, 256), 0, KG_I64, 257);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 0, KG_I64, 17);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(33, 65), 2), -1, KG_I32, 129);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(67, 33)), 0, i % 2 ? KG_I32 : KG_I64, 41);
    add_stepped_index(b, 67, 43);
    add_beyond_float(b, KG_F64);
    add_beyond_float(b, KG_I32);
    add_beyond_float(b, KG_I64);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 127, 1023, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, F32(515, 9), 0, KG_I64, lengths[i]);
        add(b, F32(9, 515), 1, KG_I32, lengths[i]);
    }
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0, KG_I64, 1);
    add(b, F32(2, 3, 4, 5, 6), -3, KG_I64, 9);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0, KG_I64, 40);
    add(b, kg_tensor_contiguous(KG_I64, KG_SHAPE(5, 7, 3)), 1, KG_I64, 13);
    add(b, kg_tensor_contiguous(KG_U8, KG_SHAPE(KG_LOOKED_UP_PAST_32_BITS / 64, 64)), 0, KG_I64, 1000);
#undef F32
}

int kg_index_select_cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F32, KG_SHAPE(64, 33), KG_SPECIALS(0, 2));
        kg_set_int(c, b->task, "dim", 0);
        kg_set_tensor(c, b->task, "index", KG_I64, KG_SHAPE(65), KG_INTEGERS(0, 63));
        return 0;
    }
    // Rows of 256 floats, one in eight selected; on the CPU the selected rows alone pass a 32 MiB cache at the end.
    if (b->level == KG_TIMED_CUDA)
        for (int64_t n = 4096; n <= 131072; n *= 2)
            add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, 256)), 0, KG_I64, n / 8);
    else
        for (int64_t n = 512; n <= 131072; n *= 4)
            add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, 256)), 0, KG_I64, n / 4);
    return 0;
}

int kg_index_select_infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[0].tensor, *index = &kg_case_arg(c, t, "index")->tensor;
    const int dim = kg_wrap_dim(c->args[1].i, in->ndim);
    if (dim < 0 || index->ndim > 1) return -1;
    int64_t shape[KG_MAX_NDIM];
    for (int i = 0; i < in->ndim; i++) shape[i] = i == dim ? kg_numel(index) : in->shape[i];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, shape);
    return 0;
}

int kg_index_select_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), index = kg_call_view(call, "index");
    const kg_tensor *out = &call->c->outs[0];
    const int dim = kg_wrap_dim(kg_call_arg(call, "dim")->i, out->ndim);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t coord[KG_MAX_NDIM] = {0};
        kg_coords(out, ref->index[k], coord);
        if (out->ndim) coord[dim] = kg_load_int(index.desc.dtype, index.data, kg_offset(&index.desc, coord[dim]));
        ref->value[k] = kg_at_offset(&in, kg_offset_at(&in.desc, coord));
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

// Only the rows that are selected need be read: with n draws from m rows, m (1 - (1 - 1/m)^n) distinct ones on average.
void kg_index_select_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[0].tensor, *index = &kg_case_arg(c, t, "index")->tensor;
    const int dim = kg_wrap_dim(c->args[1].i, in->ndim);
    const double written = (double)kg_case_output_bytes(c, t), n = (double)kg_numel(index);
    const double m = in->ndim ? (double)in->shape[dim] : 1;
    const double distinct = m > 0 ? -m * expm1(n * log1p(-1 / m)) : 0;
    const double rows = n > 0 ? written * fmin(1, (m > 1 ? distinct : 1) / n) : 0;
    const double indices = (double)kg_span_bytes(index), all = (double)kg_case_input_bytes(c, t);
    *w = (kg_work){.bytes_read = fmin(rows + indices, all), .bytes_written = written};
}

const char kg_index_select_body[] =
    "if (input->ndim == 0) {\n"
    "    kg_put(out, 0, kg_get(input, 0));\n"
    "    return;\n"
    "}\n"
    "const int64_t row = (int64_t)kg_get(index, i);\n"
    "const int64_t others = kg_elements(out) / kg_dim(out, dim);\n"
    "for (int64_t k = 0; k < others; k++)\n"
    "    kg_put_at(out, kg_line(out, dim, k) + i * kg_stride(out, dim),\n"
    "              kg_get_at(input, kg_line(input, dim, k) + row * kg_stride(input, dim)));\n";

const kg_task kg_task_kbx_index_select = {
    .name = "index_select",
    .suite = "kbx",
    .category = "Index",
    .signature = "index_select(input, dim, index) -> Tensor",
    .summary = "The slices of input along dim that a one-dimensional index names, in its order.",
    KG_OPERATION(index_select),
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = kg_index_select_cases,
    .torch_baseline = "torch.index_select",
    .c_items = "kg_elements(index)",
};
