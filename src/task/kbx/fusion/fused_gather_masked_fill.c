// fused_gather_masked_fill(input, dim, index, mask, value, *, sparse_grad=False, out=None) -> Tensor
//
// gather(input, dim, index), with value where mask is true. index is int64, has as many dimensions as input and is no
// longer except along dim; out has its shape, and mask broadcasts to it. sparse_grad says what the gradient is stored
// as: nothing for a kernel. value is rounded to input's dtype; for integer dtypes cases give whole numbers. Exact.
#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT},
    {.name = "index", .kind = KG_P_TENSOR},
    {.name = "mask", .kind = KG_P_TENSOR},
    {.name = "value", .kind = KG_P_FLOAT},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, INDEX, MASK, VALUE };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim, kg_tensor index, kg_tensor mask, double value) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_int(c, b->task, "dim", dim);
    kg_set_indices(c, b->task, "index", index, input.ndim ? input.shape[kg_wrap_dim(dim, input.ndim)] : 1);
    kg_set_strided(c, b->task, "mask", mask, KG_RANDOM_MASK);
    kg_set_float(c, b->task, "value", value);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
#define I64(...)   OF(KG_I64, __VA_ARGS__)
#define BITS(...)  OF(KG_BOOL, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    static const double values[] = {-7.5, 0.1, 0.1, 111, -111, 111, -111, 111, 1};
    const kg_tensor flag = kg_tensor_contiguous(KG_BOOL, 0, NULL);
    add(b, F32(33, 65), 0, I64(17, 65), BITS(17, 65), -7.5);
    add(b, F32(33, 65), 1, I64(33, 31), BITS(33, 31), -7.5);
    add(b, F32(33, 65), -1, I64(33, 200), BITS(33, 200), 0);  // longer than input along dim
    add(b, F32(33, 65), -2, I64(100, 65), BITS(100, 65), 0.1);
    add(b, F32(33, 33), 0, I64(33, 33), BITS(33, 33), -7.5);
    add(b, F32(33, 33), 1, I64(33, 33), BITS(33, 33), -7.5);
    add(b, F32(33, 65), 0, I64(17, 9), BITS(17, 9), -7.5);  // a corner
    add(b, F32(33, 65), 1, I64(7, 31), BITS(7, 31), -7.5);
    add(b, F32(33, 65), 1, I64(33, 31), BITS(31), -7.5);  // broadcast masks
    add(b, F32(33, 65), 1, I64(33, 31), BITS(33, 1), -7.5);
    add(b, F32(33, 65), 1, I64(33, 31), BITS(1, 31), 3);
    add(b, F32(33, 65), 1, I64(33, 31), flag, -7.5);
    add(b, F32(1025), 0, I64(2049), BITS(2049), -7.5);
    add(b, F32(1), 0, I64(1), BITS(1), -7.5);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0, kg_tensor_contiguous(KG_I64, 0, NULL), flag, -7.5);
    add(b, F32(33, 65), 0, I64(0, 65), BITS(0, 65), -7.5);
    add(b, F32(0, 5), 1, I64(0, 3), BITS(3), -7.5);
    add(b, F32(5, 7, 3, 11), 2, I64(5, 7, 4, 11), BITS(7, 1, 11), -7.5);
    add(b, F32(5, 7, 6), 1, I64(4, 9, 6), BITS(4, 9, 6), -7.5);
    add(b, F32(257, 129), 0, I64(129, 129), BITS(129, 129), -7.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 0, I64(17, 65), BITS(17, 65), -7.5);
    add(b, F32(33, 65), 0, kg_tensor_transposed(KG_I64, KG_SHAPE(17, 65), 0, 1), BITS(17, 65), -7.5);
    add(b, F32(33, 65), 1, I64(33, 31), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 31), 0, 1), -7.5);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17, 31), 3), 1, kg_tensor_stepped(KG_I64, KG_SHAPE(17, 11), 2),
        kg_tensor_stepped(KG_BOOL, KG_SHAPE(17, 11), 5), -7.5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const int64_t dim = (int64_t)(i % 2);
        kg_case *c = add(b, OF(others[i], 35, 33), dim, I64(35, 33), BITS(35, 33), values[i]);
        if (kg_exceeds_float(others[i])) c->args[INPUT].fill = KG_BEYOND_FLOAT;
    }
    add(b, F32(33, 65), 1, I64(33, 31), BITS(33, 31), -INFINITY);
    add(b, F32(33, 65), 0, I64(33, 31), BITS(33, 31), NAN);
    add(b, F32(64, 33), 0, I64(65, 33), BITS(65, 33), 2)->args[INPUT].fill = KG_SPECIALS(0, 2);
    add(b, F32(33, 65), 0, I64(9, 65), BITS(9, 65), 2)->args[MASK].fill = (kg_fill){KG_FILL_ZERO, 0, 0};
    add(b, F32(33, 65), 0, I64(9, 65), BITS(9, 65), 2)->args[MASK].fill = (kg_fill){KG_FILL_CONST, 1, 0};
    kg_set_tensor(add(b, F32(9, 43), 0, I64(3, 43), BITS(43), -7.5), b->task, "out", KG_F32, KG_SHAPE(3, 43),
                  (kg_fill){0});
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {1, 2, 127, 1023, 16385};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, F32(515, 9), 0, I64(lengths[i], 9), BITS(lengths[i], 9), -7.5);
        add(b, F32(9, 515), 1, I64(9, lengths[i]), BITS(lengths[i]), -7.5);
    }
    add(b, F32(2, 3, 4, 5, 6), -3, I64(2, 3, 7, 5, 6), BITS(7, 1, 1), -7.5);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 29), 0), 0, I64(9, 29), BITS(9, 29), -7.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1,
        kg_tensor_transposed(KG_I64, KG_SHAPE(5, 70, 31), 1, 2), BITS(70, 31), -7.5);
    add(b, OF(KG_F16, 64, 33), 0, I64(65, 33), BITS(65, 33), 2)->args[INPUT].fill = KG_SPECIALS(0, 2);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 32; n <= 4096; n *= cuda ? 2 : 4) add(b, F32(n, 1024), 0, I64(n, 1024), BITS(n, 1024), 0.5);
    return 0;
}
#undef BITS
#undef I64
#undef F32
#undef OF

// ---- shapes and oracle ------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *index = &c->args[INDEX].tensor;
    kg_tensor view;
    if (kg_expand(&c->args[MASK].tensor, index, &view)) return -1;
    c->n_outs = 1;
    return kg_gathered_shape(&c->args[INPUT].tensor, c->args[DIM].i, index, &c->outs[0]);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), index = kg_call_view(call, "index");
    const kg_view given = kg_call_view(call, "mask"), mask = kg_view_expand(&given, &call->c->outs[0]);
    const int dim = kg_wrap_dim(call->c->args[DIM].i, in.desc.ndim);
    for (size_t k = 0; k < ref->n; k++) {
        const bool masked = kg_at(&mask, ref->index[k]) != 0;
        kg_ref_exact(ref, k, masked ? call->c->args[VALUE].f : kg_gathered(&in, dim, &index, ref->index[k]));
    }
    return 0;
}

// Indices and elements under the mask need not be read. With half of it true that is one 32-byte sector of indices in
// 16, and half the elements.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[INPUT].tensor, *index = &c->args[INDEX].tensor;
    kg_work_map(t, c, w, 0, 0);
    w->bytes_read = kg_own_bytes(&c->args[MASK].tensor) + 15.0 / 16 * kg_own_bytes(index) +
                    kg_gathered_bytes(in, kg_wrap_dim(c->args[DIM].i, in->ndim), index, 0.5);
}

const kg_task kg_task_kbx_fused_gather_masked_fill = {
    .name = "fused_gather_masked_fill",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_gather_masked_fill(input, dim, index, mask, value, *, sparse_grad=False, out=None) -> Tensor",
    .summary = "Elements of input picked along dim by index, or value where mask is true.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda input, dim, index, mask, value, *, sparse_grad=False, out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "(torch.gather(input, dim, index).masked_fill_(mask, value))",
    .c_body =
        "const int64_t along = dim < 0 ? dim + out->ndim : dim, pick = (int64_t)kg_get(index, i);\n"
        "int64_t rest = i, at = 0;\n"
        "for (int d = out->ndim - 1; d >= 0; d--) {\n"
        "    at += (d == along ? pick : rest % out->shape[d]) * kg_stride(input, d);\n"
        "    rest /= out->shape[d];\n"
        "}\n"
        "kg_put(out, i, kg_get_broadcast(mask, out, i) != 0 ? value : kg_get_at(input, at));\n",
};
