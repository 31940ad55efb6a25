// fused_index_select_eq(input, dim, index, other, *, out=None) -> Tensor
//
// eq(index_select(input, dim, index), other): bool, of the shape that the selection and other broadcast to. index is
// int64 or int32, of one dimension or none. Values are compared in their promoted dtype; NaN equals nothing, and 0 is
// -0. A Number comes as a double: PyTorch rounds it to the promoted dtype first, so cases give representable ones.
//
// Exact, but where one side is a float32 (or bfloat16) denormal and both are less than the least normal number: a
// device that flushes denormals to zero says equal there, and either is right.
#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT},
    {.name = "index", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, INDEX, OTHER };

// ---- cases ----------------------------------------------------------------------------------------
// Few values, so that many are equal: a quarter in most dtypes, half in bool.
static kg_fill few(kg_dtype t) { return t == KG_BOOL ? KG_INTEGERS(0, 1) : KG_INTEGERS(0, 3); }

static kg_case *strided(kg_cases *b, kg_tensor input, int64_t dim, kg_tensor index, kg_tensor other) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, few(input.dtype));
    kg_set_int(c, b->task, "dim", dim);
    kg_set_indices(c, b->task, "index", index, input.ndim ? input.shape[kg_wrap_dim(dim, input.ndim)] : 1);
    kg_set_strided(c, b->task, "other", other, few(other.dtype));
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim, int64_t n, kg_tensor other) {
    return strided(b, input, dim, kg_tensor_contiguous(n % 2 ? KG_I64 : KG_I32, 1, &n), other);
}
static kg_tensor scalar_of(kg_dtype t) { return kg_tensor_contiguous(t, 0, NULL); }
static kg_case *number(kg_cases *b, kg_case *c, double other) {
    kg_set_number(c, b->task, "other", other);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    static const kg_dtype mixed[][2] = {{KG_F32, KG_F16}, {KG_I64, KG_F32}, {KG_I32, KG_I64}, {KG_F16, KG_BF16}};
    const kg_tensor scalar = scalar_of(KG_F32);
    add(b, F32(129, 65), 0, 71, F32(71, 65));
    add(b, F32(129, 65), 1, 30, F32(129, 30));
    add(b, F32(129, 65), -1, 200, F32(200));  // broadcast
    add(b, F32(129, 65), -2, 33, F32(33, 1));
    add(b, F32(65, 65), 0, 65, F32(65, 65));
    add(b, F32(65, 65), 1, 65, F32(65, 65));
    add(b, F32(9, 7), 0, 5, F32(3, 5, 7));  // other has a dimension more
    add(b, F32(9, 7), 0, 1, F32(4, 7));     // the selection is broadcast
    add(b, F32(129, 65), 0, 71, scalar);
    number(b, add(b, F32(129, 65), 0, 71, scalar), 2);
    number(b, add(b, F32(129, 65), 1, 31, scalar), 0);
    number(b, add(b, F32(1000), 0, 1025, scalar), 1.5);  // equals nothing
    add(b, F32(1000), 0, 1025, F32(1025));
    add(b, F32(5, 7, 3, 11), 2, 17, F32(5, 7, 17, 11));
    add(b, F32(129, 65), 0, 0, F32(0, 65));
    add(b, F32(5, 0), 0, 3, F32(3, 0));
    add(b, F32(1, 1), 0, 1, F32(1, 1));
    strided(b, F32(9, 7), 1, kg_tensor_contiguous(KG_I64, 0, NULL), F32(9, 1));
    add(b, F32(300, 256), 0, 257, F32(256));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 0, 17, F32(17, 65));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(33, 65), 2), -1, 129, F32(33, 129));
    add(b, F32(33, 65), 0, 17, kg_tensor_transposed(KG_F32, KG_SHAPE(17, 65), 0, 1));
    add(b, F32(33, 65), 0, 17, kg_tensor_expanded(KG_F32, KG_SHAPE(17, 65), 0));
    strided(b, F32(33, 65), 1, kg_tensor_stepped(KG_I64, KG_SHAPE(9), 3), F32(33, 9));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, OF(others[i], 67, 33), 0, 41, OF(others[i], 41, 33));
        if (!kg_exceeds_float(others[i])) continue;
        kg_case *c = add(b, OF(others[i], 67, 33), 1, 31, OF(others[i], 67, 31));
        c->args[INPUT].fill = KG_INTEGERS(1073741825, 1073741828);
        c->args[OTHER].fill = KG_INTEGERS(1073741825, 1073741828);
    }
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        add(b, OF(mixed[i][0], 67, 33), 0, 41, OF(mixed[i][1], 33));
    for (size_t i = 0; i < 2; i++) {  // of which float32 makes the same
        kg_case *c = add(b, OF(i ? KG_I64 : KG_I32, 67, 33), 1, 31, OF(i ? KG_I32 : KG_I64, 67, 31));
        c->args[INPUT].fill = c->args[OTHER].fill = KG_INTEGERS(1073741825, 1073741828);
    }
    number(b, add(b, OF(KG_I32, 67, 33), 0, 41, scalar), 3);
    number(b, add(b, OF(KG_I64, 67, 33), 0, 41, scalar), 1.5);  // as floats
    number(b, add(b, F32(64, 33), 0, 65, scalar), 0)->args[INPUT].fill = KG_SPECIALS(0, 2);
    number(b, add(b, F32(64, 33), 0, 65, scalar), INFINITY)->args[INPUT].fill = KG_SPECIALS(0, 2);
    kg_case *c = add(b, F32(64, 33), 0, 65, F32(33));  // NaN and NaN
    c->args[INPUT].fill = c->args[OTHER].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_set_tensor(add(b, F32(31, 43), 0, 3, F32(43)), b->task, "out", KG_BOOL, KG_SHAPE(3, 43), (kg_fill){0});
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 127, 1023, 65537};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, F32(515, 9), 0, lengths[i], F32(9));
        add(b, F32(9, 515), 1, lengths[i], F32(9, 1));
    }
    add(b, scalar_of(KG_F32), 0, 1, scalar_of(KG_F32));
    add(b, F32(2, 3, 4, 5, 6), -3, 9, F32(9, 1, 6));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0, 40, F32(40, 129));
    kg_case *c = add(b, F32(64, 33), 0, 65, F32(65, 33));
    c->args[INPUT].fill = c->args[OTHER].fill = KG_SPECIALS(0, 2);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    // Rows of 128 floats, one in eight selected. The public benchmark's last size alone takes 4 GB: left out.
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4096 : 1024; n <= (cuda ? 4194304 : 262144); n *= cuda ? 2 : 4)
        number(b, add(b, F32(n, 128), 0, n / 8, scalar_of(KG_F32)), 0);
    return 0;
}
#undef F32
#undef OF

// ---- shapes and oracle ------------------------------------------------------------------------------
static int selection(const kg_case *c, kg_tensor *out) {
    return kg_selected_shape(&c->args[INPUT].tensor, c->args[DIM].i, &c->args[INDEX].tensor, out);
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_tensor s;
    c->n_outs = 1;
    if (selection(c, &s) || kg_broadcast(&s, &c->args[OTHER].tensor, &c->outs[0])) return -1;
    c->outs[0].dtype = KG_BOOL;
    return 0;
}

// The allowed difference of a bool is local itself: 1/2 about 1/2 is either.
static void put_equal(kg_ref *ref, size_t k, double x, double y, bool flushes) {
    const bool tiny = fabs(x) < 0x1p-126 && fabs(y) < 0x1p-126;
    kg_ref_exact(ref, k, x == y);
    if (flushes && tiny && x != y) ref->value[k] = ref->local[k] = 0.5;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), index = kg_call_view(call, "index");
    const kg_view other = kg_call_view(call, "other"), y = kg_view_expand(&other, &call->c->outs[0]);
    const kg_arg *const both[] = {&call->c->args[INPUT], &call->c->args[OTHER]};
    const kg_dtype compared = kg_promote_args(both, 2);
    kg_tensor s, seen;
    if (selection(call->c, &s) || kg_expand(&s, &call->c->outs[0], &seen)) return -1;
    const int dim = kg_wrap_dim(call->c->args[DIM].i, s.ndim);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t coord[KG_MAX_NDIM] = {0};
        kg_coords(&s, kg_offset(&seen, ref->index[k]), coord);  // s is contiguous: its offset is its index
        put_equal(ref, k, kg_selected(&in, dim, &index, coord), kg_at(&y, ref->index[k]),
                  compared == KG_F32 || compared == KG_BF16);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    kg_work_map(t, c, w, 1, 0);
    w->bytes_read = kg_selected_bytes(in, kg_wrap_dim(c->args[DIM].i, in->ndim), &c->args[INDEX].tensor);
    if (!c->args[OTHER].scalar) w->bytes_read += kg_own_bytes(&c->args[OTHER].tensor);
}

const kg_task kg_task_kbx_fused_index_select_eq = {
    .name = "fused_index_select_eq",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_index_select_eq(input, dim, index, other, *, out=None) -> Tensor",
    .summary = "Which elements of the slices of input that index names equal other, a tensor or a Number.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda input, dim, index, other, *, out=None: "
        "torch.eq(torch.index_select(input, dim, index), other, out=out)",
    .c_body =
        "// Coordinates of output i in the selection, whose dimensions of one element broadcast.\n"
        "const int64_t along = dim < 0 ? dim + input->ndim : dim;\n"
        "int64_t rest = i, at = 0;\n"
        "for (int d = out->ndim - 1, k = input->ndim - 1; k >= 0; d--, k--) {\n"
        "    const int64_t length = k == along ? kg_elements(index) : input->shape[k];\n"
        "    int64_t x = length == 1 ? 0 : rest % out->shape[d];\n"
        "    rest /= out->shape[d];\n"
        "    if (k == along) x = (int64_t)kg_get(index, x);\n"
        "    at += x * kg_stride(input, k);\n"
        "}\n"
        "kg_put(out, i, kg_get_at(input, at) == kg_get_broadcast(other, out, i));\n",
};
