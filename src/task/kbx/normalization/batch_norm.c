// batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05) ->
// Tensor
//
// Each channel (dimension 1) of input (N, C, ...) as (x - mean) / sqrt(var + eps) * weight + bias. training: mean and
// biased variance are the batch's, and the running ones are overwritten with (1 - momentum) old + momentum new, of the
// unbiased variance. Otherwise they are the running ones, which stay as they are. Bounds: src/oracle/norm.h.
#include <stdlib.h>

#include "oracle/norm.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "running_mean", .kind = KG_P_TENSOR, .nullable = true, .role = KG_INOUT},
    {.name = "running_var", .kind = KG_P_TENSOR, .nullable = true, .role = KG_INOUT},
    {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "training", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "momentum", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0.1},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5},
    {.name = NULL}};
enum { INPUT, MEAN, VAR, WEIGHT, BIAS, TRAINING, MOMENTUM, EPS };
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input, bool training, bool affine) {
    kg_case *c = kg_case_add(b);
    const kg_dtype t = input.dtype;
    const int64_t channels = input.shape[1];
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 2));
    kg_set_tensor(c, b->task, "running_mean", t, KG_SHAPE(channels), KG_NORMAL(0.5, 0.5));
    kg_set_tensor(c, b->task, "running_var", t, KG_SHAPE(channels), KG_UNIFORM(0.5, 2));
    if (affine) {
        kg_set_tensor(c, b->task, "weight", t, KG_SHAPE(channels), KG_NORMAL(1, 0.5));
        kg_set_tensor(c, b->task, "bias", t, KG_SHAPE(channels), KG_NORMAL(0, 1));
    }
    if (training) kg_set_bool(c, b->task, "training", true);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(1, 1, 1, 1), false, true);
    add(b, F32(2, 1), true, true);
    add(b, F32(4, 5, 3, 7), false, true);
    add(b, F32(4, 5, 3, 7), true, true);
    add(b, F32(4, 5, 3, 7), false, false);
    add(b, F32(4, 5, 3, 7), true, false);
    add(b, F32(33, 17), true, true);  // no spatial dimensions
    add(b, F32(3, 9, 129), true, true);
    add(b, F32(0, 5, 3), false, true);
    add(b, F32(7, 33, 17, 19), true, true);
    kg_set_float(add(b, F32(4, 5, 3, 7), true, true), b->task, "momentum", 0.75);
    kg_set_float(add(b, F32(4, 5, 3, 7), true, true), b->task, "eps", 0.5);
    kg_set_float(add(b, F32(4, 5, 3, 7), false, true), b->task, "eps", 0.5);
    kg_set_none(add(b, F32(4, 5, 3, 7), true, true), b->task, "bias");
    kg_set_none(add(b, F32(4, 5, 3, 7), true, true), b->task, "weight");
    add(b, F32(6, 3, 31, 33), true, true);  // more a channel than a block of threads takes at once
    kg_case *c = add(b, F32(4, 5, 3, 7), true, true);
    kg_set_none(c, b->task, "running_mean");
    kg_set_none(c, b->task, "running_var");
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(4, 6, 9, 8), 1, 3), true, true);
    add(b, F32(8, 3, 11, 13), true, true)->args[INPUT].fill = KG_NORMAL(1000, 1);
    add(b, F32(8, 3, 11, 13), true, true)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(5, 6, 33)), true, true);
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(5, 6, 33)), false, true);
    }
}

static void full(kg_cases *b) {
    add(b, F32(2, 3, 64, 65), true, true);
    add(b, F32(32, 64, 9, 9), true, true);
    add(b, F32(2, 3, 4, 5, 6), true, true);
    add(b, F32(2, 3, 4, 5, 6), false, true);
    add(b, F32(1, 129, 257), true, false);
    add(b, F32(5, 3, 17), false, true)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};
    add(b, F32(8, 3, 33, 33), true, true)->args[INPUT].fill = KG_NORMAL(10000, 1);
    add(b, F32(8, 3, 9), true, true)->args[INPUT].fill = KG_NORMAL(0, 1e-3);  // eps counts more than the variance
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    if (b->level == KG_TIMED_CUDA)
        for (int64_t h = 640; h <= 1536; h += 128) add(b, F32(32, 32, h, 128), false, true);
    else
        for (int64_t h = 2; h <= 128; h *= 4) add(b, F32(32, 32, h, 64), false, true);
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (in->ndim < 2 || !kg_dtype_is_float(in->dtype)) return -1;
    const int64_t per_channel = in->shape[1] ? kg_numel(in) / in->shape[1] : 0;
    if (c->args[TRAINING].i ? per_channel < 2 : c->args[MEAN].none || c->args[VAR].none) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x;
    kg_groups groups;
    kg_spread *spread;  // per channel; n == 0 until it is known
} batch;

static const kg_spread *spread_of(batch *b, int64_t channel) {
    kg_spread *s = &b->spread[channel];
    if (s->n == 0) *s = kg_group_spread(&b->x, &b->groups, channel);
    return s;
}

static double or_else(const kg_view *v, int64_t i, double other) { return v->data ? kg_at(v, i) : other; }

static void normalised(const kg_call *call, batch *b, kg_ref *ref) {
    const kg_view weight = kg_call_view(call, "weight"), bias = kg_call_view(call, "bias");
    const kg_view mean = kg_call_view(call, "running_mean"), var = kg_call_view(call, "running_var");
    const double eps = call->c->args[EPS].f;
    const bool half = kg_is_half(b->x.desc.dtype);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t coord[KG_MAX_NDIM];
        kg_coords(&b->x.desc, ref->index[k], coord);
        const int64_t channel = coord[1];
        const kg_norm m = call->c->args[TRAINING].i
                              ? kg_norm_of(spread_of(b, channel), eps)
                              : (kg_norm){.mean = kg_at(&mean, channel), .var = kg_at(&var, channel), .eps = eps};
        kg_norm_put(ref, k, half, &m, kg_at(&b->x, ref->index[k]), or_else(&weight, channel, 1),
                    or_else(&bias, channel, 0));
    }
}

static void running(const kg_call *call, batch *b, kg_ref *ref) {
    const bool is_var = ref->out == 2, half = kg_is_half(b->x.desc.dtype);
    const kg_view old = kg_call_view(call, is_var ? "running_var" : "running_mean");
    const double momentum = call->c->args[MOMENTUM].f;
    for (size_t k = 0; k < ref->n; k++) {
        const double was = kg_at(&old, ref->index[k]);
        if (!call->c->args[TRAINING].i) {
            kg_ref_put(ref, k, false, was, 0, 0, 0);
            continue;
        }
        const kg_spread *s = spread_of(b, ref->index[k]);
        const double dof = (double)s->n - 1, now = is_var ? s->m2 / dof : s->mean;
        const double acc = is_var ? kg_spread_variance_acc(s, dof) : s->mean_acc;
        const double sizes = fabs((1 - momentum) * was) + fabs(momentum * now);
        kg_ref_put(ref, k, half, (1 - momentum) * was + momentum * now, KG_LAMBDA * sizes, sizes, momentum * acc);
    }
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = kg_call_view(call, "input");
    batch b = {.x = x, .groups = kg_groups_of(&x.desc, ((1 << x.desc.ndim) - 1) & ~2)};
    b.spread = calloc((size_t)x.desc.shape[1] + 1, sizeof *b.spread);
    if (!b.spread) return -1;
    if (ref->out == 0) normalised(call, &b, ref);
    else running(call, &b, ref);
    free(b.spread);
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (!c->args[TRAINING].i || !in->shape[1]) return 1;
    const int64_t values = kg_numel(in) / in->shape[1];  // of one channel
    return 2 * (double)values;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const bool training = c->args[TRAINING].i;
    kg_work_map(t, c, w, training ? 6 : 2, 0);
    // The running statistics are only written in training.
    if (!training) w->bytes_written = (double)(kg_numel(&c->outs[0]) * (int64_t)kg_dtype_size(c->outs[0].dtype));
}

const kg_task kg_task_kbx_batch_norm = {
    .name = "batch_norm",
    .suite = "kbx",
    .category = "Normalization",
    .signature =
        "batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
        "eps=1e-05) -> Tensor",
    .summary =
        "Each channel shifted and scaled by its mean and variance: the batch's in training, which also moves the "
        "running ones, else the running ones.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.batch_norm",
    .cpu_baseline = "onednn",
    .c_items = "kg_dim(input, 1)",
    .c_body =
        "// Item i is a channel.\n"
        "const int64_t channels = kg_dim(input, 1), batch = kg_dim(input, 0);\n"
        "const int64_t inner = batch ? kg_elements(input) / (batch * channels) : 0, n = batch * inner;\n"
        "double mean = 0, var = 0;\n"
        "if (training) {\n"
        "    for (int64_t k = 0; k < n; k++) mean += kg_get(input, (k / inner * channels + i) * inner + k % inner);\n"
        "    mean /= (double)n;\n"
        "    for (int64_t k = 0; k < n; k++) {\n"
        "        const double d = kg_get(input, (k / inner * channels + i) * inner + k % inner) - mean;\n"
        "        var += d * d;\n"
        "    }\n"
        "    var /= (double)n;\n"
        "    if (running_mean) kg_put(running_mean, i, (1 - momentum) * kg_get(running_mean, i) + momentum * mean);\n"
        "    if (running_var)\n"
        "        kg_put(running_var, i, (1 - momentum) * kg_get(running_var, i) +\n"
        "                                   momentum * var * (double)n / (double)(n - 1));\n"
        "} else {\n"
        "    mean = kg_get(running_mean, i);\n"
        "    var = kg_get(running_var, i);\n"
        "}\n"
        "const double scale = (weight ? kg_get(weight, i) : 1.0) / sqrt(var + eps), shift = bias ? kg_get(bias, i) : 0.0;\n"
        "for (int64_t k = 0; k < n; k++) {\n"
        "    const int64_t at = (k / inner * channels + i) * inner + k % inner;\n"
        "    kg_put(out, at, (kg_get(input, at) - mean) * scale + shift);\n"
        "}\n",
};
