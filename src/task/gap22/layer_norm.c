// layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5) -> Tensor
//
// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, which are normalized_shape; var is biased.
// Bounds: src/oracle/norm.h. At mean 10,000 an honest two-pass kernel may err by 0.09; one-pass at mean 1,000 errs
// by 1.3.
#include "oracle/norm.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "normalized_shape", .kind = KG_P_INTS},
    {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5},
    {.name = NULL}};
enum { INPUT, SHAPE, WEIGHT, BIAS, EPS };
static const char *const outputs[] = {"out", NULL};

// Over the last `dims` dimensions.
static kg_case *add(kg_cases *b, kg_tensor input, int dims, bool affine) {
    kg_case *c = kg_case_add(b);
    const int64_t *shape = input.shape + input.ndim - dims;
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 2));
    kg_set_ints(c, b->task, "normalized_shape", dims, shape);
    if (affine) {
        kg_set_tensor(c, b->task, "weight", input.dtype, dims, shape, KG_NORMAL(1, 0.5));
        kg_set_tensor(c, b->task, "bias", input.dtype, dims, shape, KG_NORMAL(0, 1));
    }
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(3, 1), 1, true);  // one element: the bias alone
    add(b, F32(5, 3), 1, true);
    add(b, F32(33, 65), 1, true);
    add(b, F32(33, 65), 1, false);
    add(b, F32(3, 1025), 1, true);
    add(b, F32(2, 16384), 1, true);
    add(b, F32(4, 5, 7), 2, true);
    add(b, F32(4, 5, 7), 3, false);
    add(b, F32(0, 5), 1, true);
    kg_set_none(add(b, F32(9, 33), 1, true), b->task, "bias");
    kg_set_none(add(b, F32(9, 33), 1, true), b->task, "weight");
    kg_set_float(add(b, F32(9, 33), 1, true), b->task, "eps", 0.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1, true);
    add(b, F32(9, 1000), 1, true)->args[INPUT].fill = KG_NORMAL(1000, 1);
    add(b, F32(9, 1000), 1, true)->args[INPUT].fill = KG_NORMAL(10000, 1);
    add(b, F32(9, 257), 1, true)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    add(b, F32(9, 33), 1, true)->args[INPUT].fill = KG_NORMAL(0, 1e-3);  // eps counts more than the variance
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
        add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(512, 1024)), 1, false);
        add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(8192, 8192)), 1, false);
        return 0;
    default:
        for (int64_t n = 16; n <= 16384; n *= 4) add(b, F32(n, 1024), 1, false);
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

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = kg_call_view(call, "input"), weight = kg_call_view(call, "weight"),
                  bias = kg_call_view(call, "bias");
    const int dims = call->c->args[SHAPE].n;
    const kg_groups g = kg_groups_of(&x.desc, ((1 << dims) - 1) << (x.desc.ndim - dims));
    kg_norm m = {0};
    int64_t line = -1;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t at = ref->index[k] % g.count;
        if (ref->index[k] / g.count != line) {
            line = ref->index[k] / g.count;
            const kg_spread s = kg_group_spread(&x, &g, line);
            m = kg_norm_of(&s, call->c->args[EPS].f);
        }
        kg_norm_put(ref, k, kg_is_half(x.desc.dtype), &m, kg_at(&x, ref->index[k]),
                    weight.data ? kg_at(&weight, at) : 1, bias.data ? kg_at(&bias, at) : 0);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    double n = 2;
    for (int i = 0; i < c->args[SHAPE].n; i++) n *= (double)c->args[SHAPE].ints[i];
    return fmax(1, n);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 7, 0); }

const kg_task kg_task_gap22_layer_norm = {
    .name = "layer_norm",
    .suite = "gap22",
    .category = "Normalization",
    .signature = "layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5) -> Tensor",
    .summary = "The last dimensions shifted and scaled to mean 0 and variance 1, then by weight and bias.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.layer_norm",
    .cpu_baseline = "onednn",
    .c_items = "kg_elements(input) / (normalized_shape->n ? kg_dim(input, -1) : 1)",
    .c_body =
        "// Item i is a row of the last dimension; the first row of a block does the whole block.\n"
        "int64_t n = 1;\n"
        "for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];\n"
        "const int64_t first = i * kg_dim(input, -1);\n"
        "if (first % n) return;\n"
        "double mean = 0, var = 0;\n"
        "for (int64_t k = 0; k < n; k++) mean += kg_get(input, first + k);\n"
        "mean /= (double)n;\n"
        "for (int64_t k = 0; k < n; k++) var += (kg_get(input, first + k) - mean) * (kg_get(input, first + k) - mean);\n"
        "const double scale = 1.0 / sqrt(var / (double)n + eps);\n"
        "for (int64_t k = 0; k < n; k++)\n"
        "    kg_put(out, first + k, (kg_get(input, first + k) - mean) * scale * (weight ? kg_get(weight, k) : 1.0) +\n"
        "                               (bias ? kg_get(bias, k) : 0.0));\n",
};
