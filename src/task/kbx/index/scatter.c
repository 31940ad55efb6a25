// scatter(input, dim, index, src) -> Tensor
//
// A copy of input in which, for every place p of index, the element at p with its coordinate dim replaced by index[p]
// is src[p]. index is int64 and has as many dimensions as input and src, is nowhere longer than src, and no longer than
// input except along dim. src is a tensor: PyTorch's other overload, with a Number for it, is not in the signature.
//
// Where two sources meet in one place PyTorch leaves it open which of them stays ("nondeterministically"), so indices
// are distinct along dim: KG_FILL_SHUFFLE. Exact: local and acc are 0.
#include "task/selection.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "dim", .kind = KG_P_INT},
                                  {.name = "index", .kind = KG_P_TENSOR},
                                  {.name = "src", .kind = KG_P_TENSOR},
                                  {.name = NULL}};
enum { INPUT, DIM, INDEX, SRC };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim, kg_tensor index, kg_tensor src) {
    kg_case *c = kg_case_add(b);
    const int d = kg_wrap_dim(dim, input.ndim);
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_int(c, b->task, "dim", dim);
    kg_set_distinct(c, b->task, "index", index, d, input.ndim ? input.shape[d] : 1);
    kg_set_strided(c, b->task, "src", src, kg_values_apart(src.dtype));
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
#define I64(...)   OF(KG_I64, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    const kg_tensor number = kg_tensor_contiguous(KG_F32, 0, NULL), place = kg_tensor_contiguous(KG_I64, 0, NULL);
    add(b, F32(33, 65), 0, I64(17, 65), F32(17, 65));
    add(b, F32(33, 65), 1, I64(33, 31), F32(33, 31));
    add(b, F32(33, 65), -1, I64(33, 64), F32(33, 64));
    add(b, F32(33, 65), -2, I64(33, 65), F32(33, 65));  // every element
    add(b, F32(33, 65), 0, I64(17, 9), F32(17, 9));     // a corner
    add(b, F32(33, 65), 1, I64(7, 31), F32(40, 70));    // src is larger
    add(b, F32(33, 65), 0, I64(17, 65), F32(18, 77));
    add(b, F32(33, 33), 0, I64(20, 33), F32(20, 33));
    add(b, F32(33, 33), 1, I64(33, 20), F32(33, 20));
    add(b, F32(1025), 0, I64(300), F32(300));
    add(b, F32(1025), 0, I64(1025), F32(1025));  // a permutation
    add(b, F32(5003), 0, I64(4999), F32(4999));
    add(b, F32(2, 4099), 0, I64(1, 4099), F32(1, 4099));
    add(b, F32(1), 0, I64(1), F32(1));
    add(b, number, 0, place, number);
    add(b, F32(33, 65), 0, I64(0, 65), F32(0, 65));  // nothing changes
    add(b, F32(33, 65), 1, I64(0, 9), F32(3, 9));
    add(b, F32(0, 5), 1, I64(0, 3), F32(0, 3));
    add(b, F32(5, 7, 3, 11), 2, I64(5, 7, 2, 11), F32(5, 7, 2, 11));
    add(b, F32(5, 7, 3, 11), 2, I64(4, 5, 2, 9), F32(5, 7, 4, 12));
    add(b, F32(5, 7, 6), 1, I64(4, 5, 6), F32(5, 5, 6));
    add(b, F32(1031, 3, 2), 1, I64(1031, 2, 2), F32(1031, 2, 2));
    add(b, F32(3, 1031, 2, 2), 0, I64(2, 1031, 2, 2), F32(2, 1031, 2, 2));
    add(b, F32(257, 129), 0, I64(128, 129), F32(128, 129));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 0, I64(17, 65), F32(17, 65));
    add(b, F32(33, 65), 0, kg_tensor_transposed(KG_I64, KG_SHAPE(17, 65), 0, 1), F32(17, 65));
    add(b, F32(33, 65), 1, I64(33, 31), kg_tensor_transposed(KG_F32, KG_SHAPE(33, 31), 0, 1));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17, 31), 3), 1, kg_tensor_stepped(KG_I64, KG_SHAPE(17, 11), 2),
        F32(17, 11));
    add(b, F32(17, 31), 0, I64(9, 31), kg_tensor_expanded(KG_F32, KG_SHAPE(9, 31), 0));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const int64_t dim = (int64_t)(i % 2);
        kg_case *c = add(b, OF(others[i], 35, 33), dim, dim ? I64(35, 17) : I64(17, 33), OF(others[i], 35, 33));
        if (kg_exceeds_float(others[i])) c->args[INPUT].fill = c->args[SRC].fill = KG_BEYOND_FLOAT;
    }
    kg_case *c = add(b, F32(64, 33), 0, I64(31, 33), F32(31, 33));
    c->args[INPUT].fill = c->args[SRC].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {1, 2, 127, 515};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, F32(515, 9), 0, I64(lengths[i], 9), F32(lengths[i], 9));
        add(b, F32(9, 515), 1, I64(9, lengths[i]), F32(9, lengths[i]));
    }
    add(b, F32(65537), 0, I64(400), F32(400));
    add(b, F32(2, 3, 4, 5, 6), -3, I64(2, 3, 3, 5, 6), F32(2, 3, 3, 5, 6));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 29), 0), 0, I64(9, 29), F32(9, 29));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1,
        kg_tensor_transposed(KG_I64, KG_SHAPE(5, 33, 31), 1, 2), F32(5, 33, 31));
    add(b, F32(5, 7), 0, I64(3, 0), F32(3, 4));
    add(b, kg_tensor_expanded(KG_U8, KG_SHAPE(KG_LOOKED_UP_PAST_32_BITS / 64, 64), 0), 0, I64(17, 64),
        OF(KG_U8, 17, 64))
        ->large = true;
    // More entries than 32 bits count.
    const int64_t side = KG_SIDE_PAST_32_BITS;
    add(b, kg_tensor_expanded(KG_U8, KG_SHAPE(2, side, side), 1), 0,
        kg_tensor_expanded(KG_I64, KG_SHAPE(1, side, side), 1), kg_tensor_expanded(KG_U8, KG_SHAPE(1, side, side), 1))
        ->large = true;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 256; n <= (cuda ? 8192 : 4096); n *= cuda ? 2 : 4)
        add(b, F32(n, 128), 0, I64(n / 2, 128), F32(n / 2, 128));
    return 0;
}
#undef I64
#undef F32
#undef OF

// ---- shapes and oracle ------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor, *index = &c->args[INDEX].tensor, *src = &c->args[SRC].tensor;
    const int dim = kg_wrap_dim(c->args[DIM].i, in->ndim);
    if (dim < 0 || index->ndim != in->ndim || src->ndim != in->ndim || src->dtype != in->dtype) return -1;
    for (int d = 0; d < in->ndim; d++)
        if (index->shape[d] > src->shape[d] || index->shape[d] > in->shape[d]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    return 0;
}

// Whether some source lands at `at`; then at[dim] is its place along dim.
static bool landed(const kg_view *index, int dim, int64_t *at) {
    const kg_tensor *t = &index->desc;
    const int64_t wanted = t->ndim ? at[dim] : 0;
    for (int d = 0; d < t->ndim; d++)
        if (d != dim && at[d] >= t->shape[d]) return false;
    if (t->ndim == 0) return true;
    at[dim] = 0;
    for (int64_t p = kg_offset_at(t, at); at[dim] < t->shape[dim]; at[dim]++, p += t->stride[dim])
        if (kg_index_at(index, p) == wanted) return true;
    at[dim] = wanted;
    return false;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), index = kg_call_view(call, "index"),
                  src = kg_call_view(call, "src");
    const int dim = kg_wrap_dim(kg_call_arg(call, "dim")->i, in.desc.ndim);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM] = {0};
        kg_coords(&in.desc, ref->index[k], at);
        const kg_view *from = landed(&index, dim, at) ? &src : &in;
        kg_ref_exact(ref, k, kg_at_offset(from, kg_offset_at(&from->desc, at)));
    }
    return 0;
}

// The search above.
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *index = &c->args[INDEX].tensor;
    return 1 + (index->ndim ? 0.5 * (double)index->shape[kg_wrap_dim(c->args[DIM].i, index->ndim)] : 1);
}

// What is overwritten need not be read, nor what index has no place for in src.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double moved = (double)kg_numel(&c->args[INDEX].tensor), n = (double)kg_numel(&c->outs[0]);
    const double size = (double)kg_dtype_size(c->outs[0].dtype), all = (double)kg_case_input_bytes(c, t);
    *w = (kg_work){.bytes_read = fmin(all, 8 * moved + size * moved + size * fmax(0, n - moved)),
                   .bytes_written = size * n};
}

const kg_task kg_task_kbx_scatter = {
    .name = "scatter",
    .suite = "kbx",
    .category = "Index",
    .signature = "scatter(input, dim, index, src) -> Tensor",
    .summary = "A copy of input with src's elements written where index says along dim; no place twice.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "torch.scatter",
    .c_body =
        "// Whether index has a line along dim through output i; if so, whether one of its entries says i.\n"
        "const int64_t along = dim < 0 ? dim + out->ndim : dim;\n"
        "int64_t rest = i, wanted = 0, in_index = 0, in_src = 0;\n"
        "bool line = true;\n"
        "for (int d = out->ndim - 1; d >= 0; d--) {\n"
        "    const int64_t at = rest % out->shape[d];\n"
        "    rest /= out->shape[d];\n"
        "    if (d == along) {\n"
        "        wanted = at;\n"
        "        continue;\n"
        "    }\n"
        "    line = line && at < index->shape[d];\n"
        "    in_index += at * kg_stride(index, d);\n"
        "    in_src += at * kg_stride(src, d);\n"
        "}\n"
        "double value = kg_get(input, i);\n"
        "for (int64_t k = 0; line && k < kg_dim(index, dim); k++)\n"
        "    if ((int64_t)kg_get_at(index, in_index + k * kg_stride(index, dim)) == wanted)\n"
        "        value = kg_get_at(src, in_src + k * kg_stride(src, dim));\n"
        "kg_put(out, i, value);\n",
};
