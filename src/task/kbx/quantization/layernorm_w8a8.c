// layernorm_w8a8(input: Tensor, normalized_shape, weight: Tensor = None, bias: Tensor = None, eps: float = 1e-5) ->
// Tensor
//
// float32. Layer normalisation of groups, the last dimensions, with activations and weight quantised to int8; the text
// does not say which activations: "the quantized portions of the computation". So each that keeps layer norm's meaning
// is right, and all outputs of a call must follow one:
//     input       x = s q, and mean and variance are those of s q, or those of the float input
//     normalised  z = (x - mean) / sqrt(var + eps) in float, z = s q
// each with a scale for every group or for the tensor; weight, when given, has one scale (one for each element would
// not quantise it); products are dequantised, bias is added in float. Symmetric and divided by 127, 127.5 or 128, as
// matmul_w8a8. A group of zeros, or of equal values, gives the bias.
//
// Bounds: src/oracle/quantise.h for the integers, src/oracle/norm.h for the rest, on x = s q where that is normalised.
// An integer that is one off moves its own output by s r |weight|, r = 1 / sqrt(var + eps), the mean by s / n and the
// variance by s (2 |x - mean| + s) / n. z errs as layer norm does: that over s widens what is near a tie.
#include <stdlib.h>

#include "oracle/norm.h"
#include "task/quantised.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "normalized_shape", .kind = KG_P_INTS},
    {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5},
    {.name = NULL}};
enum { INPUT, SHAPE, WEIGHT, BIAS, EPS };
static const char *const outputs[] = {"out", NULL};

// choice = {grid, what is quantised, grain, weight left in float}
enum { QUANTISED_INPUT, FLOAT_MOMENTS, NORMALISED, PLAIN };
#define DESIGNS(scale, grid)                                                                              \
    KG_QUANT_READING(scale, grid, "input by group", QUANTISED_INPUT, KG_BY_LINE),                         \
        KG_QUANT_READING(scale, grid, "input by tensor", QUANTISED_INPUT, KG_BY_TENSOR),                  \
        KG_QUANT_READING(scale, grid, "normalised values by group", NORMALISED, KG_BY_LINE),              \
        KG_QUANT_READING(scale, grid, "normalised values by tensor", NORMALISED, KG_BY_TENSOR),           \
        KG_QUANT_READING(scale, grid, "input by group, its moments in float", FLOAT_MOMENTS, KG_BY_LINE), \
        KG_QUANT_READING(scale, grid, "input by tensor, its moments in float", FLOAT_MOMENTS, KG_BY_TENSOR)
#define FLOAT_WEIGHT "the weight is not quantised: the task asks for int8 weights as well as activations"
static const kg_reading readings[] = {
    KG_INT8_READINGS(DESIGNS),
    KG_WRONG_READING("float", KG_NO_QUANTISATION("the layer norm", "int8"), PLAIN, KG_BY_LINE, true),
    KG_WRONG_READING("float activations",
                     "the activations are not quantised: the task asks for int8 activations as well", PLAIN, KG_BY_LINE,
                     false),
    KG_WRONG_READING("float weight", FLOAT_WEIGHT, QUANTISED_INPUT, KG_BY_LINE, true),
    KG_WRONG_READING("float weight", FLOAT_WEIGHT, QUANTISED_INPUT, KG_BY_TENSOR, true),
    KG_WRONG_READING("float weight", FLOAT_WEIGHT, NORMALISED, KG_BY_LINE, true),
    KG_WRONG_READING("float weight", FLOAT_WEIGHT, NORMALISED, KG_BY_TENSOR, true),
    KG_WRONG_READING("float weight", FLOAT_WEIGHT, FLOAT_MOMENTS, KG_BY_LINE, true),
    KG_WRONG_READING("float weight", FLOAT_WEIGHT, FLOAT_MOMENTS, KG_BY_TENSOR, true),
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
// Over the last `dims` dimensions.
static kg_case *add(kg_cases *b, kg_tensor input, int dims, bool affine) {
    kg_case *c = kg_case_add(b);
    const int64_t *shape = input.shape + input.ndim - dims;
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 2));
    kg_set_ints(c, b->task, "normalized_shape", dims, shape);
    if (affine) {
        kg_set_tensor(c, b->task, "weight", KG_F32, dims, shape, KG_NORMAL(1, 0.5));
        kg_set_tensor(c, b->task, "bias", KG_F32, dims, shape, KG_NORMAL(0, 1));
    }
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    add(b, F32(3, 1), 1, true);  // one element: the bias alone
    add(b, F32(5, 3), 1, true);
    add(b, F32(33, 65), 1, true);
    add(b, F32(33, 65), 1, false);
    add(b, F32(3, 1025), 1, true);
    add(b, F32(2, 4099), 1, true);
    add(b, F32(4, 5, 7), 2, true);
    add(b, F32(4, 5, 7), 3, false);
    add(b, F32(3, 2, 40), 1, true);
    add(b, F32(129), 1, true);
    add(b, F32(0, 5), 1, true);
    kg_set_none(add(b, F32(9, 33), 1, true), b->task, "bias");
    kg_set_none(add(b, F32(9, 33), 1, true), b->task, "weight");
    kg_set_float(add(b, F32(9, 33), 1, true), b->task, "eps", 0.5);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1, true);
    add(b, F32(9, 100), 1, true)->args[INPUT].fill = KG_NORMAL(5, 1);
    add(b, F32(5, 2049), 1, true)->args[INPUT].fill = KG_NORMAL(60, 1);  // a mean of many deviations
    add(b, F32(9, 257), 1, true)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    add(b, F32(9, 257), 1, true)->args[WEIGHT].fill = KG_OUTLIERS(0.5, 1);
    add(b, F32(9, 33), 1, true)->args[INPUT].fill = KG_NORMAL(0, 1e-2);  // eps counts beside the variance
    kg_case *c = add(b, F32(9, 100), 1, false);                          // small, and small when normalised
    c->args[INPUT].fill = KG_SMALL;
    kg_set_float(c, b->task, "eps", 0.01);
    c = add(b, F32(9, 100), 1, true);
    c->args[WEIGHT].fill = KG_SMALL;
    kg_set_none(c, b->task, "bias");
    add(b, F32(9, 100), 1, true)->args[INPUT].fill = (kg_fill){.kind = KG_FILL_ZERO};
    add(b, F32(9, 100), 1, true)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, 3.25, 0};
    add(b, F32(9, 2), 1, true)->args[INPUT].fill = (kg_fill){.kind = KG_FILL_TIES};  // groups of 0 between others
    add(b, F32(9, 100), 1, true)->args[WEIGHT].fill = (kg_fill){.kind = KG_FILL_ZERO};
}

static void full(kg_cases *b) {
    for (int64_t n = 2; n <= 4098; n = n * 4 - 1) add(b, F32(7, n), 1, true);
    add(b, F32(2, 3, 4, 5, 6), 3, true);
    add(b, F32(4, 8192), 1, true);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), 1, true);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(9, 50), 0), 1, true);
    add(b, F32(9, 128), 1, false)->args[INPUT].fill = KG_UNIFORM(-1, 1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
    } else {
        const bool cuda = b->level == KG_TIMED_CUDA;
        add(b, F32(32, 2048), 1, true);
        add(b, cuda ? F32(64, 4096) : F32(512, 1024), 1, true);
        add(b, cuda ? F32(32, 8192) : F32(128, 8192), 1, true);
    }
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const kg_arg *over = &c->args[SHAPE];
    if (over->n < 1 || over->n > in->ndim || in->dtype != KG_F32) return -1;
    for (int i = 0; i < over->n; i++)
        if (over->ints[i] != in->shape[in->ndim - over->n + i]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    return 0;
}

// ---- of whole inputs ------------------------------------------------------------------------------
typedef struct {
    kg_groups groups;
    kg_norm *of;               // moments of each group
    double *x, *z;             // largest |x| and |z| of each group
    double *z_error;           // what any z of the group may err by
    double all[2], all_error;  // largest |x|, |z|
    kg_quants weight[KG_GRIDS];
    double *exact_weight;  // NULL: none
} whole;

static double z_of(const kg_norm *m, double x) { return (x - m->mean) / sqrt(m->var + m->eps); }

static double error_of_z(const kg_norm *m, double x) {
    double value, local, acc;
    kg_ref one = {.n = 1, .value = &value, .local = &local, .acc = &acc};
    kg_norm_put(&one, 0, false, m, x, 1, 0);
    return 0x1p-24 * (local + acc);
}

static void release(void *prepared) {
    whole *h = prepared;
    if (!h) return;
    for (int i = 0; i < KG_GRIDS; i++) kg_quants_free(&h->weight[i]);
    free(h->exact_weight);
    free(h->of);
    free(h->x);
    free(h);
}

static int prepare_weight(whole *h, const kg_view *w) {
    const int64_t n = h->groups.count;
    h->exact_weight = malloc(((size_t)n + 1) * sizeof *h->exact_weight);
    if (!h->exact_weight) return -1;
    for (int64_t i = 0; i < n; i++) h->exact_weight[i] = kg_at(w, i);
    const double largest = kg_largest(h->exact_weight, n);
    for (int i = 0; i < KG_GRIDS; i++) {
        if (kg_quants_make(&h->weight[i], n)) return -1;
        kg_quantise(&h->weight[i], h->exact_weight, NULL, n, largest, 0, &kg_int8_grids[i]);
    }
    return 0;
}

static void prepare_line(whole *h, const kg_view *x, int64_t line, double eps) {
    const kg_spread s = kg_group_spread(x, &h->groups, line);
    h->of[line] = kg_norm_of(&s, eps);
    h->x[line] = h->z[line] = h->z_error[line] = 0;
    for (int64_t i = 0; i < h->groups.count; i++) {
        const double v = kg_at(x, line * h->groups.count + i);
        h->x[line] = fmax(h->x[line], fabs(v));
        h->z[line] = fmax(h->z[line], fabs(z_of(&h->of[line], v)));
        h->z_error[line] = fmax(h->z_error[line], error_of_z(&h->of[line], v));
    }
    h->all[0] = fmax(h->all[0], h->x[line]);
    h->all[1] = fmax(h->all[1], h->z[line]);
    h->all_error = fmax(h->all_error, h->z_error[line]);
}

static void *prepare(const kg_call *call) {
    const kg_view x = call->args[INPUT], w = kg_call_view(call, "weight");
    const int dims = call->c->args[SHAPE].n;
    whole *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->groups = kg_groups_of(&x.desc, ((1 << dims) - 1) << (x.desc.ndim - dims));
    const size_t lines = (size_t)h->groups.lines;
    h->of = calloc(lines + 1, sizeof *h->of);
    h->x = calloc(3 * lines + 1, sizeof *h->x);
    if (!h->of || !h->x || (w.data && prepare_weight(h, &w))) {
        release(h);
        return NULL;
    }
    h->z = h->x + lines;
    h->z_error = h->z + lines;
    for (int64_t i = 0; i < h->groups.lines; i++) prepare_line(h, &x, i, call->c->args[EPS].f);
    return h;
}

// ---- oracle ---------------------------------------------------------------------------------------
// One group as a reading has it: what is normalised, or already is.
typedef struct {
    int64_t line;
    kg_norm m;
    double var_off;  // what integers one off may take from its variance
    double *x, *error;
    float *integers;
    kg_quants q;
} group;

static int group_make(group *g, int64_t n) {
    const size_t size = (size_t)n + 1;
    g->line = -1;
    g->x = malloc(size * (2 * sizeof *g->x + sizeof *g->integers));
    g->error = g->x + size;
    g->integers = (float *)(g->error + size);
    return kg_quants_make(&g->q, n) || !g->x ? -1 : 0;
}

// Moments of s q, in units of s: those of the integers, with eps / s^2.
static kg_norm moments_of_integers(group *g, int64_t n, double eps) {
    double size = 0, off_mean = 0, off_var = 0;
    for (int64_t i = 0; i < n; i++) g->integers[i] = (float)g->q.q[i], size += abs(g->q.q[i]);
    const kg_view v = {kg_tensor_contiguous(KG_F32, 1, &n), g->integers};
    const kg_groups all = kg_groups_of(&v.desc, 1);
    const kg_spread s = kg_group_spread(&v, &all, 0);
    const double scale = g->q.scale > 0 ? g->q.scale : 1;
    kg_norm m = kg_norm_of(&s, eps / (scale * scale));
    for (int64_t i = 0; i < g->q.n_open; i++) {
        const double off = g->q.off[g->q.open[i]], d = fabs(g->integers[g->q.open[i]] - m.mean);
        off_mean += off;
        off_var += off * (2 * d + off);
    }
    m.mean_acc += size / (double)n + KG_ABSOLUTE(off_mean / (double)n);  // s q itself rounds
    g->var_off = off_var / (double)n;
    m.var_acc += KG_ABSOLUTE(g->var_off + 2 * g->q.scale_error * m.eps);
    return m;
}

static void take_group(group *g, const kg_call *call, int64_t line) {
    const whole *h = call->prepared;
    const int *choice = call->reading->choice;
    const int64_t n = h->groups.count;
    const bool tensor = choice[2] == KG_BY_TENSOR, z = choice[1] == NORMALISED;
    const double largest = z ? (tensor ? h->all[1] : h->z[line]) : tensor ? h->all[0] : h->x[line];
    const double error = !z || largest == 0 ? 0 : (tensor ? h->all_error : h->z_error[line]) / largest;
    g->line = line;
    g->m = h->of[line];
    if (choice[1] == PLAIN) return;
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_at(&call->args[INPUT], line * n + i);
        g->x[i] = z ? z_of(&g->m, x) : x;
        g->error[i] = z ? error_of_z(&g->m, x) : 0;
    }
    kg_quantise(&g->q, g->x, g->error, n, largest, error, &kg_int8_grids[choice[0]]);
    if (choice[1] == QUANTISED_INPUT) g->m = moments_of_integers(g, n, call->c->args[EPS].f);
}

// What element i of the group is before it is normalised, in the units of its moments.
static double input_of(const group *g, const kg_call *call, int64_t i) {
    const whole *h = call->prepared;
    switch (call->reading->choice[1]) {
    case PLAIN: return kg_at(&call->args[INPUT], g->line * h->groups.count + i);
    case QUANTISED_INPUT: return g->q.q[i];
    default: return g->q.scale * g->q.q[i];
    }
}

// What its integer adds to the error of the normalised value.
static double slack_of(const group *g, int what, int64_t i) {
    if (what == PLAIN) return 0;
    const double off = g->q.off[i], least = fmax(g->m.var - g->var_off, g->m.var / 4) + g->m.eps;
    // Of a group with several near ties, the others' integers make r larger.
    if (what == QUANTISED_INPUT) return off / sqrt(least);
    const double r = 1 / sqrt(g->m.var + g->m.eps);
    const double slack = g->q.scale * (off + (abs(g->q.q[i]) + off) * g->q.scale_error);
    if (what == FLOAT_MOMENTS) return slack * r;
    return g->q.scale > 0 ? slack : 2 * g->error[i];  // a group of equal values: z is nothing but error
}

static void element(const group *g, const kg_call *call, int64_t i, kg_ref *ref, size_t k) {
    const whole *h = call->prepared;
    const int *choice = call->reading->choice;
    const kg_quants *w = h->exact_weight && !choice[3] ? &h->weight[choice[0]] : NULL;
    const kg_view bias = kg_call_view(call, "bias");
    const double weight = w ? w->scale * w->q[i] : h->exact_weight ? h->exact_weight[i] : 1;
    const double added = bias.data ? kg_at(&bias, i) : 0, x = input_of(g, call, i);
    const double z = choice[1] == NORMALISED ? x : z_of(&g->m, x);
    if (choice[1] == NORMALISED)
        kg_ref_put(ref, k, false, z * weight + added, KG_LAMBDA * (fabs(z * weight) + fabs(added)), 0, 0);
    else kg_norm_put(ref, k, false, &g->m, x, weight, added);
    const double weight_off = w ? w->scale * w->off[i] * (1 + w->scale_error) + fabs(weight) * w->scale_error : 0;
    ref->acc[k] += KG_ABSOLUTE(slack_of(g, choice[1], i) * (fabs(weight) + weight_off) + fabs(z) * weight_off);
    if (choice[1] == PLAIN) ref->local[k] *= KG_ANY_PRECISION;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const whole *h = call->prepared;
    group g = {0};
    const int failed = group_make(&g, h->groups.count);
    for (size_t k = 0; k < ref->n && !failed; k++) {
        const int64_t line = ref->index[k] / h->groups.count;
        if (line != g.line) take_group(&g, call, line);
        element(&g, call, ref->index[k] % h->groups.count, ref, k);
    }
    kg_quants_free(&g.q);
    free(g.x);
    return failed ? -1 : 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 12, 0); }

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    double n = 8;
    for (int i = 0; i < c->args[SHAPE].n; i++) n *= (double)c->args[SHAPE].ints[i];
    return fmax(1, n);
}

const kg_task kg_task_kbx_layernorm_w8a8 = {
    .name = "layernorm_w8a8",
    .suite = "kbx",
    .category = "Quantization",
    .signature =
        "layernorm_w8a8(input: Tensor, normalized_shape, weight: Tensor = None, bias: Tensor = None, "
        "eps: float = 1e-5) -> Tensor",
    .summary = "Layer norm whose activations (input or normalised values) and weight go through int8.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .readings = readings,
    .public_limits = &(const kg_likeness){0.1, 0.05, 0.95},
    .prepare = prepare,
    .release = release,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, normalized_shape, weight=None, bias=None, eps=1e-5: (lambda q, d: F.layer_norm(q(input, d), "
        "normalized_shape, None if weight is None else q(weight, d), bias, eps))(lambda x, d: (lambda s: (x / s).round() "
        "* s)((x.abs().amax(d, keepdim=True) / 127).clamp(min=1e-30)), tuple(range(-len(normalized_shape), 0)))",
    .c_items = "kg_elements(input) / (normalized_shape->n ? kg_dim(input, -1) : 1)",
    .c_body =
        "// Item i is a row of the last dimension; the first row of a group does the whole group.\n"
        "int64_t n = 1;\n"
        "for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];\n"
        "const int64_t first = i * kg_dim(input, -1);\n"
        "if (first % n) return;\n"
        "double s = 0, t = 0, mean = 0, var = 0;\n"
        "for (int64_t k = 0; k < n; k++) {\n"
        "    s = fmax(s, fabs(kg_get(input, first + k)));\n"
        "    if (weight) t = fmax(t, fabs(kg_get(weight, k)));\n"
        "}\n"
        "s = s > 0 ? s / 127.0 : 1.0;\n"
        "t = t > 0 ? t / 127.0 : 1.0;\n"
        "for (int64_t k = 0; k < n; k++) mean += rint(kg_get(input, first + k) / s);\n"
        "mean /= (double)n;\n"
        "for (int64_t k = 0; k < n; k++) {\n"
        "    const double d = rint(kg_get(input, first + k) / s) - mean;\n"
        "    var += d * d;\n"
        "}\n"
        "const double r = s / sqrt(s * s * var / (double)n + eps);\n"
        "for (int64_t k = 0; k < n; k++) {\n"
        "    const double z = (rint(kg_get(input, first + k) / s) - mean) * r;\n"
        "    kg_put(out, first + k, z * (weight ? rint(kg_get(weight, k) / t) * t : 1.0) + (bias ? kg_get(bias, k) : 0.0));\n"
        "}\n",
};
