// gather(input, dim, index) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// out[..., i, ...] = input[..., index[..., i, ...], ...] along dim. index is int64, has as many dimensions as input and
// is no longer except along dim; out has its shape. Indices are in range (PyTorch defines no others) and may repeat.
// Exact.
#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "dim", .kind = KG_P_INT},
                                  {.name = "index", .kind = KG_P_TENSOR},
                                  {.name = NULL}};
enum { INPUT, DIM, INDEX };

static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim, kg_tensor index) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_int(c, b->task, "dim", dim);
    kg_set_indices(c, b->task, "index", index, input.ndim ? input.shape[kg_wrap_dim(dim, input.ndim)] : 1);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
#define I64(...)   OF(KG_I64, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    add(b, F32(33, 65), 0, I64(17, 65));
    add(b, F32(33, 65), 1, I64(33, 31));
    add(b, F32(33, 65), -1, I64(33, 200));  // longer than input along dim
    add(b, F32(33, 65), -2, I64(100, 65));
    add(b, F32(33, 33), 0, I64(33, 33));
    add(b, F32(33, 33), 1, I64(33, 33));
    add(b, F32(33, 65), 0, I64(17, 9));  // a corner
    add(b, F32(33, 65), 1, I64(7, 31));
    add(b, F32(1025), 0, I64(2049));
    add(b, F32(1), 0, I64(1));
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0, kg_tensor_contiguous(KG_I64, 0, NULL));
    add(b, F32(33, 65), 0, I64(0, 65));
    add(b, F32(0, 5), 1, I64(0, 3));
    add(b, F32(5, 7, 3, 11), 2, I64(5, 7, 4, 11));
    add(b, F32(5, 7, 6), 1, I64(4, 9, 6));
    add(b, F32(257, 129), 0, I64(129, 129));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 0, I64(17, 65));
    add(b, F32(33, 65), 0, kg_tensor_transposed(KG_I64, KG_SHAPE(17, 65), 0, 1));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17, 31), 3), 1, kg_tensor_stepped(KG_I64, KG_SHAPE(17, 11), 2));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kg_case *c = add(b, OF(others[i], 35, 33), (int64_t)(i % 2), I64(35, 33));
        if (kg_exceeds_float(others[i])) c->args[INPUT].fill = KG_BEYOND_FLOAT;
    }
    add(b, F32(64, 33), 0, I64(65, 33))->args[INPUT].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {1, 2, 127, 1023, 16385};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, F32(515, 9), 0, I64(lengths[i], 9));
        add(b, F32(9, 515), 1, I64(9, lengths[i]));
    }
    add(b, F32(2, 3, 4, 5, 6), -3, I64(2, 3, 7, 5, 6));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 29), 0), 0, I64(9, 29));
    add(b, F32(19, 29), 0, kg_tensor_expanded(KG_I64, KG_SHAPE(40, 29), 1));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1,
        kg_tensor_transposed(KG_I64, KG_SHAPE(5, 70, 31), 1, 2));
    add(b, OF(KG_F16, 64, 33), 0, I64(65, 33))->args[INPUT].fill = KG_SPECIALS(0, 2);
    add(b, OF(KG_U8, KG_LOOKED_UP_PAST_32_BITS / 64, 64), 0, I64(1000, 64))->large = true;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 32; n <= (cuda ? 16384 : 4096); n *= cuda ? 2 : 4) add(b, F32(n, 1024), 0, I64(n, 1024));
    return 0;
}
#undef I64
#undef F32
#undef OF

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    c->n_outs = 1;
    return kg_gathered_shape(&c->args[INPUT].tensor, c->args[DIM].i, &c->args[INDEX].tensor, &c->outs[0]);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), index = kg_call_view(call, "index");
    const int dim = kg_wrap_dim(call->c->args[DIM].i, in.desc.ndim);
    for (size_t k = 0; k < ref->n; k++) kg_ref_exact(ref, k, kg_gathered(&in, dim, &index, ref->index[k]));
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[INPUT].tensor, *index = &c->args[INDEX].tensor;
    kg_work_map(t, c, w, 0, 0);
    w->bytes_read = kg_own_bytes(index) + kg_gathered_bytes(in, kg_wrap_dim(c->args[DIM].i, in->ndim), index, 1);
}

const kg_task kg_task_kbx_gather = {
    .name = "gather",
    .suite = "kbx",
    .category = "Index",
    .signature = "gather(input, dim, index) -> Tensor",
    .summary = "Elements of input picked along dim by index, one for each of its elements.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.gather",
    .c_body =
        "const int64_t along = dim < 0 ? dim + out->ndim : dim, pick = (int64_t)kg_get(index, i);\n"
        "int64_t rest = i, at = 0;\n"
        "for (int d = out->ndim - 1; d >= 0; d--) {\n"
        "    at += (d == along ? pick : rest % out->shape[d]) * kg_stride(input, d);\n"
        "    rest /= out->shape[d];\n"
        "}\n"
        "kg_put(out, i, kg_get_at(input, at));\n",
};
