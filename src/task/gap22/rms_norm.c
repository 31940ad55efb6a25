// rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor
//
// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, which are normalized_shape. eps None: the distance from
// 1 to the next number of input's dtype, as torch.finfo has it; libraries differ in whose dtype that is for half
// precision, so no half-precision case leaves it out.
//
// Bounds. mean(x^2) sums positive terms, so any order does: acc as in src/oracle/sum.c, over n. It moves y by half its
// share.
#include "oracle/reduce.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "normalized_shape", .kind = KG_P_INTS},
    {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, SHAPE, WEIGHT, EPS };
static const char *const outputs[] = {"out", NULL};

// Over the last `dims` dimensions.
static kg_case *add(kg_cases *b, kg_tensor input, int dims, bool affine) {
    kg_case *c = kg_case_add(b);
    const int64_t *shape = input.shape + input.ndim - dims;
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 2));
    kg_set_ints(c, b->task, "normalized_shape", dims, shape);
    if (affine) kg_set_tensor(c, b->task, "weight", input.dtype, dims, shape, KG_NORMAL(1, 0.5));
    if (kg_is_half(input.dtype)) kg_set_float(c, b->task, "eps", 1e-5);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(3, 1), 1, true);  // one element: its sign
    add(b, F32(5, 3), 1, true);
    add(b, F32(33, 65), 1, true);
    add(b, F32(33, 65), 1, false);
    add(b, F32(3, 1025), 1, true);
    add(b, F32(2, 16384), 1, true);
    add(b, F32(4, 5, 7), 2, true);
    add(b, F32(4, 5, 7), 3, false);
    add(b, F32(0, 5), 1, true);
    kg_set_float(add(b, F32(9, 33), 1, true), b->task, "eps", 0.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1, true);
    add(b, F32(9, 1000), 1, true)->args[INPUT].fill = KG_NORMAL(1000, 1);
    add(b, F32(9, 1000), 1, true)->args[INPUT].fill = KG_NORMAL(10000, 1);
    add(b, F32(9, 257), 1, true)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    add(b, F32(9, 33), 1, true)->args[INPUT].fill = KG_NORMAL(0, 1e-3);  // eps is a tenth of the mean square
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(9, 1027)), 1, true);
    // One special value a row, none so large that its square overflows in float32.
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(65, 8)), 1, true)->args[INPUT].fill = KG_SPECIALS(0.5, 1);
}

static void full(kg_cases *b) {
    for (int64_t n = 2; n <= 4098; n = n * 4 - 1) add(b, F32(7, n), 1, true);
    add(b, F32(2, 3, 4, 5, 6), 3, true);
    add(b, F32(9, 3), 1, false)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};  // NaN
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), 1, true);
    add(b, F32(9, 100), 1, true)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, 3.25, 0};
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(9, 1024)), 1, true)->args[INPUT].fill = KG_NORMAL(100, 1);
    add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(9, 4096)), 1, false);
}

static int cases(kg_cases *b) {
    switch (b->level) {
    case KG_CASES_QUICK:
    case KG_CASES_FULL:
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    case KG_TIMED_CUDA:  // the published sizes: data/gap22_published.csv
        add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(512, 1024)), 1, true);
        add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(8192, 8192)), 1, true);
        return 0;
    default:
        for (int64_t n = 16; n <= 16384; n *= 4) add(b, F32(n, 1024), 1, true);
        return 0;
    }
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const kg_arg *over = &c->args[SHAPE];
    if (over->n < 1 || over->n > in->ndim || !kg_dtype_is_float(in->dtype)) return -1;
    for (int i = 0; i < over->n; i++)
        if (over->ints[i] != in->shape[in->ndim - over->n + i]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    return 0;
}

typedef struct {
    double s2, acc;
} mean_square;  // mean(x^2) + eps; what its sum may err by

static void square_chunk(const double *x, int64_t n, void *ctx) {
    double square[1024];
    for (int64_t first = 0; first < n; first += 1024) {
        const int64_t m = n - first < 1024 ? n - first : 1024;
        for (int64_t k = 0; k < m; k++) square[k] = x[first + k] * x[first + k];
        kg_total_add(ctx, square, m);
    }
}

static mean_square mean_square_of(const kg_view *x, const kg_groups *g, int64_t line, double eps) {
    kg_total t = {.exact = x->desc.dtype == KG_F64};
    kg_group_each(x, g, line, square_chunk, &t);
    return (mean_square){kg_total_value(&t) / (double)g->count + eps, kg_total_acc(&t) / (double)g->count};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = kg_call_view(call, "input"), weight = kg_call_view(call, "weight");
    const int dims = call->c->args[SHAPE].n;
    const bool half = kg_is_half(x.desc.dtype);
    const kg_groups g = kg_groups_of(&x.desc, ((1 << dims) - 1) << (x.desc.ndim - dims));
    const double eps = call->c->args[EPS].none ? 2 * kg_dtype_unit(x.desc.dtype) : call->c->args[EPS].f;
    // A stored x / rms may be denormal, before it is multiplied by the weight.
    const double least = half ? kg_dtype_tiny(x.desc.dtype) / kg_dtype_unit(x.desc.dtype) : 0;
    mean_square m = {0};
    int64_t line = -1;
    for (size_t k = 0; k < ref->n; k++) {
        if (ref->index[k] / g.count != line) {
            line = ref->index[k] / g.count;
            m = mean_square_of(&x, &g, line, eps);
        }
        const double w = weight.data ? kg_at(&weight, ref->index[k] % g.count) : 1;
        const double y = kg_at(&x, ref->index[k]) / sqrt(m.s2) * w, size = fabs(y);
        if (isfinite(y))
            kg_ref_put(ref, k, half, y, KG_LAMBDA * size, 2 * size + fabs(w) * least, size * m.acc / (2 * m.s2));
        else kg_ref_put(ref, k, false, y, 0, 0, 0);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    double n = 1;
    for (int i = 0; i < c->args[SHAPE].n; i++) n *= (double)c->args[SHAPE].ints[i];
    return fmax(1, n);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 4, 0); }

const kg_task kg_task_gap22_rms_norm = {
    .name = "rms_norm",
    .suite = "gap22",
    .category = "Normalization",
    .signature = "rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor",
    .summary = "The last dimensions divided by the root of their mean square, then scaled by weight.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.rms_norm",
    .c_items = "kg_elements(input) / (normalized_shape->n ? kg_dim(input, -1) : 1)",
    .c_body =
        "// Item i is a row of the last dimension; the first row of a block does the whole block.\n"
        "int64_t n = 1;\n"
        "for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];\n"
        "const int64_t first = i * kg_dim(input, -1);\n"
        "if (first % n) return;\n"
        "// eps None: the distance from 1 to the next number of the dtype.\n"
        "const double spacing = input->dtype.bits == 64 ? 0x1p-52 : input->dtype.bits == 32 ? 0x1p-23\n"
        "                       : input->dtype.code == kDLBfloat ? 0x1p-7 : 0x1p-10;\n"
        "double squares = 0;\n"
        "for (int64_t k = 0; k < n; k++) squares += kg_get(input, first + k) * kg_get(input, first + k);\n"
        "const double scale = 1.0 / sqrt(squares / (double)n + (eps ? *eps : spacing));\n"
        "for (int64_t k = 0; k < n; k++)\n"
        "    kg_put(out, first + k, kg_get(input, first + k) * scale * (weight ? kg_get(weight, k) : 1.0));\n",
};
