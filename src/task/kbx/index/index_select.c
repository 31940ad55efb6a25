// index_select(input, dim, index) -> Tensor
//
// out has input's shape with dimension dim replaced by index's length; exact. Indices are int64 or int32, in range
// (PyTorch defines no others) and may repeat.
#include "task/selection.h"
#include "task/shared.h"

const kg_param kg_index_select_params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                           {.name = "dim", .kind = KG_P_INT},
                                           {.name = "index", .kind = KG_P_TENSOR},
                                           {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim, kg_dtype index, int64_t n) {
    kg_case *c = kg_case_add(b);
    const int d = kg_wrap_dim(dim, input.ndim);
    const int64_t length = input.ndim ? input.shape[d] : 1;
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_int(c, b->task, "dim", dim);
    kg_set_indices(c, b->task, "index", kg_tensor_contiguous(index, 1, &n), length);
    return c;
}

// Every third entry of a longer index.
static void add_stepped_index(kg_cases *b, int64_t rows, int64_t n) {
    add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(rows, 33)), 0, KG_I64, n);
    kg_set_strided(&b->items[b->n - 1], b->task, "index", kg_tensor_stepped(KG_I64, KG_SHAPE(n), 3),
                   KG_INTEGERS(0, (double)(rows - 1)));
}

// Values that float32 cannot hold.
static void add_beyond_float(kg_cases *b, kg_dtype t) {
    for (int dim = 0; dim < 2; dim++)
        add(b, kg_tensor_contiguous(t, KG_SHAPE(29, 13)), dim, KG_I64, 31)->args[0].fill = KG_BEYOND_FLOAT;
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
    add(b, F32(5003, 2), 0, KG_I64, 4999);
    add(b, F32(2, 4099), 0, KG_I64, 3);
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
    add(b, kg_tensor_contiguous(KG_U8, KG_SHAPE(KG_LOOKED_UP_PAST_32_BITS / 64, 64)), 0, KG_I64, 1000)->large = true;
    // More entries than 32 bits count.
    kg_case *c = add(b, kg_tensor_contiguous(KG_U8, KG_SHAPE(1000)), 0, KG_I64, KG_PAST_32_BITS);
    kg_set_indices(c, b->task, "index", kg_tensor_expanded(KG_I64, KG_SHAPE(KG_PAST_32_BITS), 0), 1000);
    c->large = true;
    add(b, kg_tensor_expanded(KG_U8, KG_SHAPE(3, KG_SIDE_PAST_32_BITS, KG_SIDE_PAST_32_BITS), 1), 0, KG_I64, 1)->large =
        true;
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
    c->n_outs = 1;
    return kg_selected_shape(&c->args[0].tensor, c->args[1].i, &kg_case_arg(c, t, "index")->tensor, &c->outs[0]);
}

int kg_index_select_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), index = kg_call_view(call, "index");
    const kg_tensor *out = &call->c->outs[0];
    const int dim = kg_wrap_dim(kg_call_arg(call, "dim")->i, out->ndim);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t coord[KG_MAX_NDIM] = {0};
        kg_coords(out, ref->index[k], coord);
        kg_ref_exact(ref, k, kg_selected(&in, dim, &index, coord));
    }
    return 0;
}

// Only the rows that are selected need be read.
void kg_index_select_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[0].tensor, *index = &kg_case_arg(c, t, "index")->tensor;
    const int dim = kg_wrap_dim(c->args[1].i, in->ndim);
    *w =
        (kg_work){.bytes_read = kg_selected_bytes(in, dim, index), .bytes_written = (double)kg_case_output_bytes(c, t)};
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
