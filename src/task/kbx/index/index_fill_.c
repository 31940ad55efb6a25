// index_fill_(dim, x, index, value) -> Tensor
//
// In place on x: its slices along dim that index names become value. A method of x in PyTorch; as a function its
// arguments come in the order of the public benchmark, dim first. What it returns is not looked at.
//
// index is int64 (PyTorch takes no other) of one dimension or none; an index may come twice, none is negative or too
// large: the documentation defines no such ones. value is rounded to x's dtype; for integer dtypes cases give whole
// numbers. Exact: local and acc are 0.
#include <stdlib.h>

#include "task/selection.h"

static const kg_param params[] = {{.name = "dim", .kind = KG_P_INT},
                                  {.name = "x", .kind = KG_P_TENSOR, .role = KG_INOUT},
                                  {.name = "index", .kind = KG_P_TENSOR},
                                  {.name = "value", .kind = KG_P_FLOAT},
                                  {.name = NULL}};
enum { DIM, X, INDEX, VALUE };
static const char *const outputs[] = {NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *strided(kg_cases *b, kg_tensor x, int64_t dim, kg_tensor index, double value) {
    kg_case *c = kg_case_add(b);
    kg_set_int(c, b->task, "dim", dim);
    kg_set_strided(c, b->task, "x", x, kg_values_of(x.dtype));
    kg_set_indices(c, b->task, "index", index, x.ndim ? x.shape[kg_wrap_dim(dim, x.ndim)] : 1);
    kg_set_float(c, b->task, "value", value);
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor x, int64_t dim, int64_t n, double value) {
    return strided(b, x, dim, kg_tensor_contiguous(KG_I64, 1, &n), value);
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    static const double values[] = {-7.5, -7.5, 0.1, 111, -111, 111, -111, 111, 1};
    add(b, F32(33, 65), 0, 9, -7.5);
    add(b, F32(33, 65), 1, 9, -7.5);
    add(b, F32(33, 65), -1, 9, 0);
    add(b, F32(33, 65), -2, 9, 0.1);
    add(b, F32(33, 33), 0, 7, 3);  // both dimensions as long
    add(b, F32(33, 33), 1, 7, 3);
    add(b, F32(1000), 0, 300, -7.5);
    add(b, F32(1000), 0, 5, 1e30);
    add(b, F32(4097), -1, 2048, -7.5);
    add(b, F32(5003, 2), 0, 4999, -7.5);
    add(b, F32(2, 4099), 0, 1, -7.5);
    add(b, F32(1), 0, 1, -7.5);
    add(b, F32(1), 0, 0, -7.5);
    add(b, F32(33, 65), 0, 0, -7.5);  // nothing changes
    add(b, F32(33, 0), 0, 4, -7.5);
    add(b, F32(0, 5), 0, 0, -7.5);
    add(b, F32(5, 3), 0, 40, -7.5);  // every row, many twice
    add(b, F32(5, 7, 3, 11), 2, 2, -7.5);
    add(b, F32(5, 7, 3, 11), -3, 3, -7.5);
    for (int dim = -3; dim < 3; dim++) add(b, F32(5, 7, 9), dim, 3, -7.5);
    add(b, F32(257, 129), 0, 64, -7.5);
    strided(b, F32(33, 65), 1, kg_tensor_contiguous(KG_I64, 0, NULL), -7.5);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0, 1, -7.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 0, 9, -7.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1, 9, -7.5);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17, 31), 3), 1, 9, -7.5);
    strided(b, F32(33, 65), 1, kg_tensor_stepped(KG_I64, KG_SHAPE(9), 3), -7.5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kg_case *c = add(b, kg_tensor_contiguous(others[i], KG_SHAPE(33, 35)), (int64_t)(i % 2), 9, values[i]);
        if (kg_exceeds_float(others[i])) c->args[X].fill = KG_BEYOND_FLOAT;
    }
    add(b, F32(33, 65), 0, 9, NAN);
    add(b, F32(33, 65), 1, 9, -INFINITY);
    add(b, F32(64, 33), 0, 20, 2)->args[X].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 127, 1023, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, F32(515, 9), 0, lengths[i], -7.5);
        add(b, F32(9, 515), 1, lengths[i], -7.5);
    }
    add(b, F32(1048577), 0, 1000, -7.5);
    add(b, F32(2, 3, 4, 5, 6), -3, 2, -7.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1, 9, -7.5);
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(31, 33)), 0, 5, INFINITY);
    add(b, kg_tensor_contiguous(KG_I64, KG_SHAPE(31, 33)), 1, 5, 9007199254740991.0);
    add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(31, 33)), 1, 5, 0.1);
    // The same element more often than 32 bits count.
    strided(b, F32(1000), 0, kg_tensor_expanded(KG_I64, KG_SHAPE(KG_PAST_32_BITS), 0), -7.5)->large = true;
    // More elements of one slice.
    add(b, kg_tensor_contiguous(KG_I8, KG_SHAPE(KG_SIDE_PAST_32_BITS, KG_SIDE_PAST_32_BITS, 1)), 2, 1, -111)->large =
        true;
}
#undef F32

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4096 : 65536; n <= 8388608; n *= cuda ? 2 : 8)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n)), 0, n / 2, 1);
    return 0;
}

// ---- shapes and oracle ------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    c->n_outs = 0;
    return kg_wrap_dim(c->args[DIM].i, c->args[X].tensor.ndim) < 0 || c->args[INDEX].tensor.ndim > 1 ? -1 : 0;
}

// Which slices are named; NULL: no memory. To be freed.
static char *named(const kg_call *call, int64_t length) {
    const kg_view *index = &call->args[INDEX];
    char *set = calloc((size_t)length + 1, 1);
    const int64_t entries = kg_numel(&index->desc), n = entries && kg_span_bytes(&index->desc) == 8 ? 1 : entries;
    for (int64_t k = 0; set && k < n; k++) set[kg_index_at(index, kg_offset(&index->desc, k))] = 1;
    return set;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view *x = &call->args[X];
    const int dim = kg_wrap_dim(call->c->args[DIM].i, x->desc.ndim);
    char *set = named(call, x->desc.ndim ? x->desc.shape[dim] : 1);
    if (!set) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM] = {0};
        kg_coords(&x->desc, ref->index[k], at);
        const double old = kg_at_offset(x, kg_offset_at(&x->desc, at));
        kg_ref_exact(ref, k, set[at[dim]] ? call->c->args[VALUE].f : old);
    }
    free(set);
    return 0;
}

// Nothing of x need be read, and only the named slices are written.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    (void)t;
    const kg_tensor *x = &c->args[X].tensor, *index = &c->args[INDEX].tensor;
    const double indices = kg_own_bytes(index);
    const double slices = kg_selected_bytes(x, kg_wrap_dim(c->args[DIM].i, x->ndim), index) - indices;
    *w = (kg_work){.bytes_read = indices, .bytes_written = slices};
}

const kg_task kg_task_kbx_index_fill_ = {
    .name = "index_fill_",
    .suite = "kbx",
    .category = "Index",
    .signature = "index_fill_(dim, x, index, value) -> Tensor",
    .summary = "Sets the slices of x along dim that index names to value, in place.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda dim, x, index, value: x.index_fill_(dim, index, value)",
    .c_items = "kg_elements(x) ? kg_elements(index) : 0",
    .c_body =
        "const int64_t row = (int64_t)kg_get(index, i), others = kg_elements(x) / kg_dim(x, dim);\n"
        "for (int64_t k = 0; k < others; k++)\n"
        "    kg_put_at(x, x->ndim ? kg_line(x, dim, k) + row * kg_stride(x, dim) : 0, value);\n",
};
