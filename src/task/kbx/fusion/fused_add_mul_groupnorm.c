// fused_add_mul_groupnorm(input1, input2, weight, bias, num_groups, eps=1e-5, *, out=None) -> Tensor
//
// m = (input1 + input2) * input2, in input1's shape (N, C, ...), with which input2 broadcasts; then group_norm: each
// sample's C / num_groups channels together as (m - mean) / sqrt(var + eps), biased, times the channel's weight plus
// its bias. A group of a batch of one that holds a single value is not asked: PyTorch refuses it.
//
// Bounds. The sum and the product round once each, and are stored by kernels that take the steps one by one; how these
// errors pass through the normalisation, and its own: kg_stage_layer_norm.
#include "oracle/stages.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input1", .kind = KG_P_TENSOR},
    {.name = "input2", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR},
    {.name = "num_groups", .kind = KG_P_INT},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { X, Y, WEIGHT, BIAS, GROUPS, EPS };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *with(kg_cases *b, kg_tensor x, kg_tensor y, int64_t groups) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input1", x, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "input2", y, KG_NORMAL(0.75, 1));
    kg_set_tensor(c, b->task, "weight", x.dtype, KG_SHAPE(x.shape[1]), KG_NORMAL(1, 0.5));
    kg_set_tensor(c, b->task, "bias", x.dtype, KG_SHAPE(x.shape[1]), KG_NORMAL(0, 1));
    kg_set_int(c, b->task, "num_groups", groups);
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor x, int64_t groups) { return with(b, x, x, groups); }
static kg_case *filled(kg_case *c, kg_fill x, kg_fill y) {
    c->args[X].fill = x, c->args[Y].fill = y;
    return c;
}
static kg_case *with_eps(kg_cases *b, kg_case *c, double eps) {
    kg_set_float(c, b->task, "eps", eps);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    add(b, F32(2, 4, 3), 2);
    add(b, F32(3, 6, 5, 7), 3);
    add(b, F32(3, 6, 5, 7), 1);
    add(b, F32(3, 6, 5, 7), 6);
    add(b, F32(33, 12), 4);  // no spatial dimensions
    add(b, F32(5, 3), 3);    // a value a group: bias
    add(b, F32(1, 2, 1), 1);
    add(b, F32(2, 32, 33, 17), 8);
    add(b, F32(1, 2, 4099), 2);
    add(b, F32(1, 2062, 3), 1031);
    add(b, F32(2, 4099, 1), 1);
    add(b, F32(2, 3, 2, 3, 4), 3);
    add(b, F32(0, 4, 3), 2);
    with(b, F32(3, 6, 5, 7), F32(7), 2);
    with(b, F32(3, 6, 5, 7), F32(6, 1, 1), 2);
    with(b, F32(3, 6, 5, 7), F32(1), 2);
    with(b, F32(3, 6, 5, 7), F32(3, 1, 5, 1), 3);
    with(b, kg_tensor_transposed(KG_F32, KG_SHAPE(3, 6, 9, 8), 1, 3),
         kg_tensor_stepped(KG_F32, KG_SHAPE(3, 6, 9, 8), 2), 2);
    with_eps(b, add(b, F32(3, 6, 5, 7), 3), 2);
    with_eps(b, add(b, F32(3, 6, 5, 7), 6), 2);
    with_eps(b, add(b, F32(3, 6, 5, 7), 1), 2);
    with_eps(b, add(b, F32(9, 12), 4), 2);
    with_eps(b, filled(add(b, F32(3, 6, 5, 8), 3), KG_NORMAL(0.03, 0.05), KG_NORMAL(0.03, 0.05)), 1e-3);
    filled(add(b, F32(3, 6, 11, 13), 3), KG_NORMAL(30, 1), KG_NORMAL(30, 0.1));  // far from 0 for its deviation
    filled(add(b, F32(3, 6, 11, 13), 3), KG_OUTLIERS(0.5, 1), KG_NORMAL(0.75, 1));
    filled(add(b, F32(3, 6, 5), 3), (kg_fill){KG_FILL_CONST, 1, 0}, (kg_fill){KG_FILL_CONST, 2, 0});  // bias
    filled(add(b, F32(40, 6, 2), 3), KG_SPECIALS(0, 1), KG_UNIFORM(0.5, 1))->args[X].fill = KG_NORMAL(0, 1);
    filled(add(b, F32(2, 4, 3), 2), (kg_fill){KG_FILL_CONST, NAN, 0}, KG_NORMAL(0, 1));
    filled(add(b, F32(2, 4, 3), 2), (kg_fill){KG_FILL_CONST, INFINITY, 0}, KG_NORMAL(0, 1));
    kg_case *c = add(b, F32(3, 6, 5, 9), 3);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(3, 6, 5, 9), KG_NORMAL(0, 1));
    for (size_t i = 0; i < 3; i++) {
        const kg_dtype t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, kg_tensor_contiguous(t, KG_SHAPE(3, 6, 33)), 3);
        with(b, kg_tensor_contiguous(t, KG_SHAPE(2, 4, 9, 31)), kg_tensor_contiguous(t, KG_SHAPE(9, 1)), 2);
    }
}

static void full(kg_cases *b) {
    add(b, F32(2, 64, 33, 9), 8);
    add(b, F32(1, 6, 100, 101), 2);
    add(b, F32(129, 10, 3), 5);
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(2, 8, 40, 41)), 2);
    with(b, kg_tensor_expanded(KG_F32, KG_SHAPE(5, 6, 7), 0), F32(5, 1, 1), 2);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t w = cuda ? 64 : 16; w <= (cuda ? 8192 : 1024); w *= 2)
        add(b, cuda ? F32(16, 64, 128, w) : F32(4, 64, 16, w), 8);
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[X].tensor, *y = &c->args[Y].tensor;
    kg_tensor both;
    if (x->ndim < 2 || !kg_dtype_is_float(x->dtype) || y->dtype != x->dtype || kg_broadcast(x, y, &both)) return -1;
    if (both.ndim != x->ndim || kg_numel(&both) != kg_numel(x)) return -1;
    if (c->args[GROUPS].i < 1 || x->shape[1] % c->args[GROUPS].i) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, x->ndim, x->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x, y, weight, bias;
    kg_rung rung;
    int64_t groups, spatial;
    double eps;
} norm;

static int group(int64_t block, kg_stage *s, void *ctx) {
    const norm *m = ctx;
    const kg_rung *r = &m->rung;
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term y = kg_term_input(r, kg_at(&m->y, block * s->n + i));
        const kg_term sum = kg_term_stored(r, kg_term_add(r, kg_term_input(r, kg_at(&m->x, block * s->n + i)), y));
        s->at[i] = kg_term_stored(r, kg_term_mul(r, sum, y));
    }
    kg_stage_layer_norm(r, s, m->eps, NULL, NULL);
    const int64_t first = block % m->groups * (s->n / m->spatial);
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t channel = first + i / m->spatial;
        s->at[i] = kg_term_affine(r, s->at[i], kg_at(&m->weight, channel), kg_at(&m->bias, channel), true);
    }
    return 0;
}

static int64_t group_size(const kg_case *c) {
    const kg_tensor *x = &c->outs[0];
    int64_t n = x->shape[1] / c->args[GROUPS].i;
    for (int d = 2; d < x->ndim; d++) n *= x->shape[d];
    return n;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view y = kg_call_view(call, "input2");
    norm m = {.x = kg_call_view(call, "input1"),
              .y = kg_view_expand(&y, out),
              .weight = kg_call_view(call, "weight"),
              .bias = kg_call_view(call, "bias"),
              .rung = kg_rung_of(call->task, out->dtype),
              .groups = call->c->args[GROUPS].i,
              .spatial = 1,
              .eps = call->c->args[EPS].f};
    for (int d = 2; d < out->ndim; d++) m.spatial *= out->shape[d];
    return kg_stage_each(ref, group_size(call->c), 1, group, &m);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 4 * (double)group_size(c));
}

// Sum and product, twice to the mean, thrice to the variance, and the scaling.
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 8, 0); }

const kg_task kg_task_kbx_fused_add_mul_groupnorm = {
    .name = "fused_add_mul_groupnorm",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_add_mul_groupnorm(input1, input2, weight, bias, num_groups, eps=1e-5, *, out=None) -> Tensor",
    .summary = "Group normalisation of (input1 + input2) * input2.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input1, input2, weight, bias, num_groups, eps=1e-5, *, out=None: (lambda y: y if out is None else "
        "out.copy_(y))(F.group_norm((input1 + input2) * input2, num_groups, weight, bias, eps))",
    .c_items = "kg_dim(input1, 0) * num_groups",
    .c_body =
        "// Item i is one group of one sample.\n"
        "const int64_t channels = kg_dim(input1, 1), n = kg_elements(out) / kg_dim(input1, 0) / num_groups;\n"
        "const int64_t inner = n / (channels / num_groups);\n"
        "double mean = 0, var = 0;\n"
        "for (int64_t k = i * n; k < (i + 1) * n; k++) {\n"
        "    const double y = kg_get_broadcast(input2, out, k);\n"
        "    mean += (kg_get(input1, k) + y) * y / (double)n;\n"
        "}\n"
        "for (int64_t k = i * n; k < (i + 1) * n; k++) {\n"
        "    const double y = kg_get_broadcast(input2, out, k), d = (kg_get(input1, k) + y) * y - mean;\n"
        "    var += d * d / (double)n;\n"
        "}\n"
        "for (int64_t k = i * n; k < (i + 1) * n; k++) {\n"
        "    const double y = kg_get_broadcast(input2, out, k), d = (kg_get(input1, k) + y) * y - mean;\n"
        "    const int64_t c = k / inner % channels;\n"
        "    kg_put(out, k, d / sqrt(var + eps) * kg_get(weight, c) + kg_get(bias, c));\n"
        "}\n",
};
