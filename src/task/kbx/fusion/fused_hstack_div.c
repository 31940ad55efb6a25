// fused_hstack_div(tensors, divisor, *, rounding_mode=None, out=None) -> Tensor
//
// div of torch.hstack(tensors): one after the other along dimension 1, or along the only one; 0-dimensional ones count
// as one element. Python gets a list of tensors, C up to three of them, NULL behind the last. The divisor broadcasts to
// the stack's shape.
#include "task/activations.h"
#include "task/division.h"

enum { TENSORS, DIVISOR = 3, MODE, MOST = 3 };
static const kg_param params[] = {
    {.name = "tensors", .kind = KG_P_TENSOR, .listed = true},
    {.name = "tensors_2", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .listed = true},
    {.name = "tensors_3", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .listed = true},
    {.name = "divisor", .kind = KG_P_TENSOR},
    {.name = "rounding_mode", .kind = KG_P_STR, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

// ---- cases ------------------------------------------------------------------------------------------
static kg_fill dividends(kg_dtype t) {
    if (kg_dtype_is_float(t)) return KG_NORMAL(1.5, 4);
    return t == KG_U8 ? KG_INTEGERS(0, 100) : KG_INTEGERS(-100, 100);
}

static kg_case *stack(kg_cases *b, kg_tensor first, kg_tensor divisor) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "tensors", first, dividends(first.dtype));
    kg_set_strided(c, b->task, "divisor", divisor,
                   kg_dtype_is_float(divisor.dtype) ? KG_NORMAL(0.5, 1.5) : KG_INTEGERS(1, 7));
    return c;
}
static kg_case *more(kg_cases *b, kg_case *c, kg_tensor second) {
    kg_set_strided(c, b->task, c->args[1].none ? "tensors_2" : "tensors_3", second, dividends(second.dtype));
    return c;
}
static kg_case *by(kg_cases *b, kg_case *c, double divisor) {
    kg_set_number(c, b->task, "divisor", divisor);
    return c;
}
static kg_case *mode(kg_cases *b, kg_case *c, const char *rounding) {
    kg_set_str(c, b->task, "rounding_mode", rounding);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype floats[] = {KG_F16, KG_BF16, KG_F64}, ints[] = {KG_I32, KG_I64, KG_U8};
    const kg_tensor number = kg_tensor_contiguous(KG_F32, 0, NULL);
    by(b, more(b, stack(b, F32(17), number), F32(9)), 2);
    by(b, stack(b, F32(17), number), -1.5);  // one alone
    more(b, more(b, stack(b, F32(1023), F32(1537)), F32(513)), F32(1));
    more(b, stack(b, F32(33, 65), F32(33, 96)), F32(33, 31));  // along dimension 1
    more(b, more(b, stack(b, F32(33, 65), F32(33, 1)), F32(33, 1)), F32(33, 7));
    more(b, stack(b, F32(9, 5, 7), F32(7)), F32(9, 4, 7));  // dimension 1, not the last
    more(b, stack(b, F32(9, 5, 7), F32(9, 1, 1)), F32(9, 4, 7));
    more(b, stack(b, F32(65537), number), F32(3));
    more(b, stack(b, F32(5, 0), F32(5, 3)), F32(5, 3));  // nothing, then something
    more(b, stack(b, F32(0, 5), F32(8)), F32(0, 3));
    more(b, stack(b, number, number), number);  // two numbers: a line of 2
    more(b, stack(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), F32(130)), F32(33, 65));
    more(b, stack(b, F32(257), F32(514)), kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3));
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        more(b, stack(b, OF(floats[i], 9, 31), OF(floats[i], 62)), OF(floats[i], 9, 31));
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        more(b, stack(b, OF(ints[i], 515), OF(ints[i], 1)), OF(ints[i], 3));
        mode(b, more(b, stack(b, OF(ints[i], 9, 31), OF(ints[i], 62)), OF(ints[i], 9, 31)), i % 2 ? "trunc" : "floor");
    }
    mode(b, by(b, more(b, stack(b, OF(KG_I32, 99), number), OF(KG_I32, 31)), -2.5), "floor");
    more(b, stack(b, F32(33, 9), F32(18)), OF(KG_F16, 33, 9));  // promoted
    more(b, stack(b, OF(KG_I64, 33, 9), F32(18)), OF(KG_I32, 33, 9));
    mode(b, more(b, stack(b, F32(33, 65), F32(33, 96)), F32(33, 31)), "trunc");
    mode(b, more(b, stack(b, F32(33, 65), F32(33, 96)), F32(33, 31)), "floor");
    mode(b, by(b, more(b, stack(b, F32(513), number), F32(31)), -1.5), "floor");
    mode(b, by(b, more(b, stack(b, OF(KG_F16, 513), number), OF(KG_F16, 31)), 2), "trunc");
    more(b, stack(b, F32(515), F32(618)), F32(103))->args[TENSORS].fill = KG_SPECIALS(0, 2);
    kg_set_tensor(more(b, stack(b, F32(3, 43), F32(50)), F32(3, 7)), b->task, "out", KG_F32, KG_SHAPE(3, 50),
                  (kg_fill){0});
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1) more(b, stack(b, F32(n), F32(2 * n + 1)), F32(n + 1));
    more(b, stack(b, F32(2, 3, 4, 5), F32(4, 1)), F32(2, 1, 4, 5));
    more(b, stack(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), F32(19, 1)), F32(19, 2));
    mode(b, more(b, stack(b, OF(KG_F64, 33, 9), OF(KG_F64, 18)), OF(KG_F64, 33, 9)), "floor");
    mode(b, more(b, stack(b, OF(KG_BF16, 33, 9), OF(KG_BF16, 18)), OF(KG_BF16, 33, 9)), "trunc");
}
#undef F32
#undef OF

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "tensors", d, 1, &n, dividends(d));
    kg_set_tensor(c, t, "tensors_2", d, 1, &n, dividends(d));
    kg_set_number(c, t, "divisor", 2);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 4, timed, NULL);
        return 0;
    }
    quick(b);
    kg_nan_cases(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

// ---- shapes -----------------------------------------------------------------------------------------
static int length(const kg_case *c) { return c->args[1].none ? 1 : c->args[2].none ? 2 : MOST; }

// As torch.atleast_1d.
static kg_tensor piece(const kg_case *c, int k) {
    kg_tensor t = c->args[TENSORS + k].tensor;
    if (t.ndim == 0) t.ndim = 1, t.shape[0] = t.stride[0] = 1;
    return t;
}
static int along(const kg_tensor *t) { return t->ndim == 1 ? 0 : 1; }

static int stacked(const kg_case *c, kg_tensor *out) {
    *out = piece(c, 0);
    const int dim = along(out);
    for (int k = 1; k < length(c); k++) {
        const kg_tensor p = piece(c, k);
        if (p.ndim != out->ndim) return -1;
        for (int d = 0; d < p.ndim; d++)
            if (d != dim && p.shape[d] != out->shape[d]) return -1;
        out->shape[dim] += p.shape[dim];
        out->dtype = kg_promote(out->dtype, p.dtype);
    }
    *out = kg_tensor_contiguous(out->dtype, out->ndim, out->shape);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_arg *divisor = &c->args[DIVISOR];
    kg_arg stack = {.kind = KG_P_TENSOR};
    kg_tensor view;
    if (c->args[1].none && !c->args[2].none) return -1;  // a list has no gap
    if (stacked(c, &stack.tensor) || kg_expand(&divisor->tensor, &stack.tensor, &view)) return -1;
    const kg_arg *const both[] = {&stack, divisor};
    const kg_rounding rounding = kg_rounding_of(&c->args[MODE]);
    if (!kg_may_divide(divisor, kg_promote_args(both, 2), rounding)) return -1;
    c->n_outs = 1;
    c->outs[0] = stack.tensor;
    c->outs[0].dtype = kg_quotient_dtype(kg_promote_args(both, 2), rounding);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
static double element(const kg_call *call, const kg_tensor *out, int64_t index) {
    int64_t at[KG_MAX_NDIM];
    kg_coords(out, index, at);
    const int dim = along(out);
    for (int k = 0;; k++) {
        const kg_view v = {piece(call->c, k), call->args[TENSORS + k].data};
        if (at[dim] < v.desc.shape[dim]) return kg_at_offset(&v, kg_offset_at(&v.desc, at));
        at[dim] -= v.desc.shape[dim];
    }
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view divisor = kg_call_view(call, "divisor"), expanded = kg_view_expand(&divisor, out);
    const kg_division d = {kg_rounding_of(&call->c->args[MODE]), out->dtype};
    for (size_t k = 0; k < ref->n; k++) {
        const double a = element(call, out, ref->index[k]);
        const kg_point p = kg_quotient(a, kg_at(&expanded, ref->index[k]), &d);
        ref->value[k] = p.value;
        ref->local[k] = p.local;
        ref->acc[k] = 0;
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_fused_hstack_div = {
    .name = "fused_hstack_div",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_hstack_div(tensors, divisor, *, rounding_mode=None, out=None) -> Tensor",
    .summary = "Tensors side by side along dimension 1, divided; as it is, cut to an integer, or rounded down to one.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda tensors, divisor, *, rounding_mode=None, out=None: "
        "torch.div(torch.hstack(tensors), divisor, rounding_mode=rounding_mode, out=out)",
    .c_body =
        "// Coordinate of output i along the stack; `below`: elements of one step along it.\n"
        "const int dim = out->ndim == 1 ? 0 : 1;\n"
        "int64_t below = 1;\n"
        "for (int d = dim + 1; d < out->ndim; d++) below *= out->shape[d];\n"
        "const int64_t inner = i % below, outer = i / below / out->shape[dim];\n"
        "int64_t at = i / below % out->shape[dim];\n"
        "const DLTensor *piece = tensors;\n"
        "if (at >= kg_dim(piece, dim)) {\n"
        "    at -= kg_dim(piece, dim);\n"
        "    piece = tensors_2;\n"
        "}\n"
        "if (at >= kg_dim(piece, dim)) {\n"
        "    at -= kg_dim(piece, dim);\n"
        "    piece = tensors_3;\n"
        "}\n"
        "const double x = kg_get(piece, (outer * kg_dim(piece, dim) + at) * below + inner);\n"
        "const double q = x / kg_get_broadcast(divisor, out, i);\n"
        "if (kg_same(rounding_mode, \"trunc\")) kg_put(out, i, trunc(q));\n"
        "else if (kg_same(rounding_mode, \"floor\")) kg_put(out, i, floor(q));\n"
        "else kg_put(out, i, q);\n",
};
