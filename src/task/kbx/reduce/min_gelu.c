// min_gelu(input, dim=None, keepdim=False, approximate='none', out=None) -> Tensor
//
// The smallest of GELU(input) along dim (None: of all); values alone, no indices. NaN is smaller than everything. GELU
// falls to -0.17 at -0.75 and rises on both sides, so the smallest input does not give it.
//
// Bounds. Taking a minimum rounds nothing, but of two elements whose GELUs lie closer than they are computed the wrong
// one may win: the bound is the largest one among those that could. Half precision: as gelu's (kg_gelu_oracle).
#include <string.h>

#include "oracle/reduce.h"
#include "task/activations.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, KEEPDIM, APPROXIMATE };

// ---- cases ----------------------------------------------------------------------------------------
// No infinities: PyTorch's own versions of gelu(inf) differ.
static kg_case *flat(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0, 2));
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim) {
    kg_case *c = flat(b, input);
    kg_set_int(c, b->task, "dim", dim);
    return c;
}
static kg_case *by_tanh(kg_cases *b, kg_case *c) {
    kg_set_str(c, b->task, "approximate", "tanh");
    return c;
}
static kg_case *of(kg_case *c, kg_fill fill) {
    c->args[INPUT].fill = fill;
    return c;
}
// Where the two forms differ most, and beyond the minimum: the smallest input gives the largest result.
#define LEFT   KG_UNIFORM(-4, -1.5)
#define RIGHT  KG_UNIFORM(0.5, 6)
#define NAN_IN ((kg_fill){KG_FILL_CONST, NAN, 0})

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    flat(b, F32(3));
    flat(b, F32(1));
    flat(b, F32(65537));
    flat(b, F32(33, 65));
    add(b, F32(33, 65), 0);
    add(b, F32(33, 65), 1);
    kg_set_bool(add(b, F32(33, 5), -1), b->task, "keepdim", true);
    add(b, F32(1031, 3), 1);
    add(b, F32(3, 4, 1027), 1);
    add(b, F32(5003, 3), 1);
    add(b, F32(0, 5), 1);
    by_tanh(b, of(add(b, F32(515, 3), 1), LEFT));
    of(add(b, F32(515, 3), 1), LEFT);
    by_tanh(b, of(add(b, F32(515, 3), 1), RIGHT));
    of(flat(b, F32(1025)), RIGHT);
    by_tanh(b, of(flat(b, F32(17)), LEFT));
    of(add(b, F32(129, 4), 1), KG_UNIFORM(-20, -4));
    of(add(b, F32(129, 9), 0), KG_OUTLIERS(0, 1));
    // A sixth of the minima lie past 4096.
    of(add(b, F32(33, 5003), 1), RIGHT);
    of(add(b, F32(5003, 33), 0), RIGHT);
    of(add(b, F32(33, 9), 1), NAN_IN);
    of(flat(b, F32(33, 9)), NAN_IN);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1);
    flat(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(67, 9)), 1);
        by_tanh(b, of(add(b, kg_tensor_contiguous(others[i], KG_SHAPE(131, 2)), 1), LEFT));
        of(add(b, kg_tensor_contiguous(others[i], KG_SHAPE(131, 2)), 1), LEFT);
    }
    kg_set_tensor(add(b, F32(9, 43), 0), b->task, "out", KG_F32, KG_SHAPE(43), KG_NORMAL(0, 1));
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) flat(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
    flat(b, kg_tensor_contiguous(KG_F32, 0, NULL));
    add(b, F32(2, 3, 4, 5, 6), -3);
    kg_set_bool(flat(b, F32(9, 31)), b->task, "keepdim", true);
    kg_set_bool(by_tanh(b, of(flat(b, F32(2, 3, 7)), LEFT)), b->task, "keepdim", true);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0);
    by_tanh(b, of(add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1), RIGHT));
    of(add(b, F32(515, 7), 1), KG_LOGSCALE(-20, 4));
    of(add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(9, 3)), 0), NAN_IN);
}
#undef F32

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    static const int cpu[] = {14, 17, 20, 22, 24};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 16 : 5); i++) {
        const int64_t n = (int64_t)1 << (cuda ? 12 + i : cpu[i]);
        flat(b, kg_tensor_contiguous(KG_F32, 1, &n));
    }
    return 0;
}

static int mask_of(const kg_case *c) {
    const int ndim = c->args[INPUT].tensor.ndim;
    if (c->args[DIM].none) return (1 << (ndim ? ndim : 1)) - 1;
    const int d = kg_wrap_dim(c->args[DIM].i, ndim);
    return d < 0 ? -1 : 1 << d;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const int mask = mask_of(c);
    if (mask < 0 || !kg_dtype_is_float(in->dtype) || kg_groups_of(in, mask).count == 0) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_reduced_shape(in, mask, c->args[KEEPDIM].i, in->dtype);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    bool tanh_form, any;
    double u;  // of float32, or float64
    double least, local;
} search;

static void least_chunk(const double *x, int64_t n, void *ctx) {
    search *s = ctx;
    for (int64_t k = 0; k < n; k++) {
        const double v = kg_gelu_point(x[k], s->tanh_form).value;
        if (!s->any || v < s->least || (isnan(v) && !isnan(s->least))) s->least = v;
        s->any = true;
    }
}
static void local_chunk(const double *x, int64_t n, void *ctx) {
    search *s = ctx;
    for (int64_t k = 0; k < n; k++) {
        const kg_point p = kg_gelu_point(x[k], s->tanh_form);
        if (p.value - s->u * p.local <= s->least) s->local = fmax(s->local, p.local);
    }
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_groups_of(&in.desc, mask_of(call->c));
    const bool half = kg_is_half(in.desc.dtype);
    const search start = {.tanh_form = strcmp(call->c->args[APPROXIMATE].s, "tanh") == 0,
                          .u = in.desc.dtype == KG_F64 ? 0x1p-53 : 0x1p-24};
    for (size_t k = 0; k < ref->n; k++) {
        search s = start;
        kg_group_fold(&in, &g, ref->index[k], least_chunk, &s);
        if (isfinite(s.least)) kg_group_each(&in, &g, ref->index[k], local_chunk, &s);
        kg_ref_put(ref, k, half, s.least, (half ? KG_GELU_HALF : 1) * s.local, 0, 0);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 8 * fmax(1, (double)kg_numel(&c->args[INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[INPUT].tensor);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 4 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_min_gelu = {
    .name = "min_gelu",
    .suite = "kbx",
    .category = "Reduce",
    .signature = "min_gelu(input, dim=None, keepdim=False, approximate='none', out=None) -> Tensor",
    .summary = "The smallest GELU of the input along dim (None: of all), without its index; NaN is smallest.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, dim=None, keepdim=False, approximate='none', out=None: "
        "torch.amin(F.gelu(input, approximate=approximate), () if dim is None else dim, keepdim, out=out)",
    .c_body =
        "const int64_t n = dim ? kg_dim(input, *dim) : kg_elements(input);\n"
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n"
        "double least = 0;\n"
        "for (int64_t k = 0; k < n; k++) {\n"
        "    const int64_t at = dim ? kg_line(input, *dim, i) + k * kg_stride(input, *dim) : kg_element(input, k);\n"
        "    const double x = kg_get_at(input, at), inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"
        "    const double gelu = 0.5 * x * (by_tanh ? 1.0 + tanh(inner) : erfc(-x * 0.7071067811865476));\n"
        "    if (k == 0 || gelu < least || gelu != gelu) least = gelu;\n"
        "    if (gelu != gelu) break;\n"
        "}\n"
        "kg_put(out, i, least);\n",
};
