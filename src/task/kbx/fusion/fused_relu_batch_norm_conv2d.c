// fused_relu_batch_norm_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, running_mean=None,
//     running_var=None, bn_weight=None, bn_bias=None, training=False, momentum=0.1, eps=1e-5, inplace=False) -> Tensor
//
// relu(batch_norm(conv2d(input, ...), running_mean, running_var, bn_weight, bn_bias, training, momentum, eps)).
// training: each channel's mean and biased variance are its own, and the running statistics, where given, are
// overwritten with (1 - momentum) old + momentum new, of the unbiased variance. Otherwise they are the running ones,
// which must be given. input is (N, C, H, W): batch_norm takes dimension 1 for the channels. inplace overwrites an
// intermediate result.
//
// Bounds: the convolution's (src/oracle/product.c), through the normalisation (src/oracle/stages.c), which is computed
// in float32 whatever the convolution's inputs were rounded to. With constant statistics a kernel may fold the scale
// into the weights: one more rounding of each term, which the convolution's bound has room for.
#include <stdlib.h>

#include "task/convolutions.h"

#define VECTOR(text, what) \
    { .name = text, .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = what }
static const kg_param params[] = {KG_CONV_INPUTS,
                                  KG_CONV_GEOMETRY(""),
                                  VECTOR("running_mean", KG_INOUT),
                                  VECTOR("running_var", KG_INOUT),
                                  VECTOR("bn_weight", KG_IN),
                                  VECTOR("bn_bias", KG_IN),
                                  {.name = "training", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  KG_CONV_OPTION(KG_P_FLOAT, "momentum", 0.1),
                                  KG_CONV_OPTION(KG_P_FLOAT, "eps", 1e-5),
                                  {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, GROUPS, MEAN, VAR, BN_WEIGHT, BN_BIAS, TRAINING, MOMENTUM, EPS };

// ---- cases ----------------------------------------------------------------------------------------
static void running(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    kg_set_tensor(c, b->task, "running_mean", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(1, 2));
    kg_set_tensor(c, b->task, "running_var", w->dtype, KG_SHAPE(w->shape[0]), KG_UNIFORM(4, 40));
}

static void affine(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    kg_set_tensor(c, b->task, "bn_weight", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(1, 0.5));
    kg_set_tensor(c, b->task, "bn_bias", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(0.25, 0.5));
}

static bool complete(kg_cases *b, kg_case *c) {
    running(b, c);
    affine(b, c);
    return true;
}

static kg_case *plain(kg_cases *b, kg_dtype t) {
    return kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(3, 3, 7, 6)),
                                         kg_tensor_contiguous(t, KG_SHAPE(4, 3, 3, 3))));
}

static kg_case *given(kg_cases *b, kg_dtype t, bool training) {
    kg_case *c = plain(b, t);
    complete(b, c);
    if (training) kg_set_bool(c, b->task, "training", true);
    return c;
}

static void normalisations(kg_cases *b) {
    const kg_dtype t = KG_F32;
    given(b, t, true);
    given(b, KG_F16, true);
    given(b, KG_BF16, true);
    given(b, KG_F64, true);
    kg_set_float(given(b, t, true), b->task, "momentum", 0.75);
    kg_set_float(given(b, t, true), b->task, "eps", 10);
    kg_set_float(given(b, t, false), b->task, "eps", 10);
    kg_set_none(given(b, t, true), b->task, "bn_bias");
    kg_set_none(given(b, t, false), b->task, "bn_weight");
    running(b, plain(b, t));                              // no weight or bias
    kg_set_bool(plain(b, t), b->task, "training", true);  // nor running statistics
    kg_set_bool(given(b, t, false), b->task, "inplace", true);
    // Four values a channel: the unbiased variance is a third larger.
    kg_case *c = kg_conv_one(b, kg_conv_image(b, 2, 3, 5, 4, 5, 3), "stride", 2);
    complete(b, c);
    kg_set_bool(c, b->task, "training", true);
    c = kg_conv_image(b, 3, 2, 22, 23, 2, 2);  // 1,386 values a channel
    complete(b, c);
    kg_set_bool(c, b->task, "training", true);
    given(b, t, false)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    given(b, t, true)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, 100, 0};  // a mean that is many deviations
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){.complete = complete, .batched = true, .no_specials = true});
        normalisations(b);
        kg_nan_cases(b);
        return 0;
    }
    // Of the published sizes, the two last are left out: 2.5e12 and 1e13 products.
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t k = 1; k <= 4; k *= 2)
        complete(b, kg_conv_one(b,
                                cuda ? kg_conv_image(b, 1, 64 * k, 32 * k, 32 * k, 128 * k, 3)
                                     : kg_conv_image(b, 1, 16 * k, 16 * k, 16 * k, 32 * k, 3),
                                "padding", 1));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_conv_infer(t, c) || c->outs[0].ndim != 4) return -1;
    const kg_tensor *out = &c->outs[0];
    const bool stats = kg_arg_is_tensor(kg_case_arg(c, t, "running_mean"));
    if (stats != kg_arg_is_tensor(kg_case_arg(c, t, "running_var"))) return -1;  // as PyTorch refuses it
    if (c->args[TRAINING].i) return out->shape[0] * out->shape[2] * out->shape[3] < 2 ? -1 : 0;
    return stats ? 0 : -1;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    const kg_call *call;
    kg_conv conv;
    kg_rung rung;
    kg_view mean, var, weight, bias;
    double eps;
    int64_t images, filters, plane;
    kg_stage values;  // of one channel
} layer;

static layer layer_of(const kg_call *call) {
    layer l = {.call = call, .conv = kg_conv_of(call), .rung = kg_conv_rung(call), .eps = call->c->args[EPS].f};
    l.mean = kg_call_view(call, "running_mean"), l.var = kg_call_view(call, "running_var");
    l.weight = kg_call_view(call, "bn_weight"), l.bias = kg_call_view(call, "bn_bias");
    l.images = l.conv.out.shape[0], l.filters = l.conv.out.shape[1];
    l.plane = l.conv.out.shape[2] * l.conv.out.shape[3];
    return l;
}

static int fill_channel(layer *l, int64_t o) {
    for (int64_t n = 0; n < l->images; n++) {
        kg_stage part = {l->plane, l->values.at + n * l->plane};
        if (kg_stage_from(&part, (n * l->filters + o) * l->plane, 1, kg_conv_part, &l->conv)) return -1;
    }
    kg_stage_stored(&l->rung, &l->values);
    return 0;
}

static kg_point relu_at(double x, const void *ctx) {
    (void)ctx;
    return kg_relu_point(x);
}

static void finish(const layer *l, kg_ref *ref, size_t k, kg_term z) {
    const int64_t o = ref->index[k] / l->plane % l->filters;
    const double weight = l->weight.data ? kg_at(&l->weight, o) : 1, bias = l->bias.data ? kg_at(&l->bias, o) : 0;
    const kg_term y = kg_term_affine(&l->rung, z, weight, bias, l->weight.data || l->bias.data);
    kg_term_put(ref, k, kg_term_map(&l->rung, y, relu_at, NULL));
}

static void by_constants(layer *l, kg_ref *ref) {
    kg_conv_ref(&l->conv, ref);
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t o = ref->index[k] / l->plane % l->filters;
        const kg_term x = kg_term_stored(&l->rung, (kg_term){ref->value[k], ref->local[k], ref->acc[k]});
        finish(l, ref, k, kg_term_normalise(&l->rung, x, kg_at(&l->mean, o), kg_at(&l->var, o) + l->eps));
    }
}

static int by_batch(layer *l, kg_ref *ref) {
    const int64_t image = l->filters * l->plane;
    for (int64_t o = 0; o < l->filters; o++) {
        bool known = false;
        for (size_t k = 0; k < ref->n; k++) {
            const int64_t i = ref->index[k];
            if (i / l->plane % l->filters != o) continue;
            if (!known && fill_channel(l, o)) return -1;
            if (!known) kg_stage_batch_norm(&l->rung, &l->values, l->eps);
            known = true;
            finish(l, ref, k, l->values.at[i / image * l->plane + i % l->plane]);
        }
    }
    return 0;
}

static int statistics(layer *l, kg_ref *ref) {
    const bool is_var = ref->out == 2;
    const double momentum = l->call->c->args[MOMENTUM].f;
    for (size_t k = 0; k < ref->n; k++) {
        const kg_term was = kg_term_exact(kg_at(is_var ? &l->var : &l->mean, ref->index[k]));
        if (!l->call->c->args[TRAINING].i) {
            kg_term_put(ref, k, was);
            continue;
        }
        if (fill_channel(l, ref->index[k])) return -1;
        const kg_term now = is_var ? kg_stage_variance(&l->rung, &l->values, (double)l->values.n - 1)
                                   : kg_stage_mean(&l->rung, &l->values);
        // In half precision both products may be stored, as in batch_norm.
        const kg_term keep = kg_term_stored(&l->rung, kg_term_mul(&l->rung, kg_term_exact(1 - momentum), was));
        const kg_term new = kg_term_stored(&l->rung, kg_term_mul(&l->rung, kg_term_exact(momentum), now));
        kg_term_put(ref, k, kg_term_add(&l->rung, keep, new));
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    layer l = layer_of(call);
    const bool training = call->c->args[TRAINING].i;
    if (ref->out == 0 && !training) {
        by_constants(&l, ref);
        return 0;
    }
    l.values = (kg_stage){l.images * l.plane, malloc((size_t)(l.images * l.plane) * sizeof(kg_term) + 1)};
    const int rc = !l.values.at ? -1 : ref->out == 0 ? by_batch(&l, ref) : statistics(&l, ref);
    free(l.values.at);
    return rc;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const bool training = c->args[TRAINING].i;
    kg_conv_work(t, c, w, training ? 7 : 3, 0);
    // The running statistics are only written in training.
    if (!training) w->bytes_written = (double)(kg_numel(&c->outs[0]) * (int64_t)kg_dtype_size(c->outs[0].dtype));
}

static double reach(const kg_task *t, const kg_case *c) {
    const kg_tensor *out = &c->outs[0];
    const double values = c->args[TRAINING].i ? (double)(out->shape[0] * out->shape[2] * out->shape[3]) : 1;
    return kg_conv_reach(t, c) * values;
}

const kg_task kg_task_kbx_fused_relu_batch_norm_conv2d = {
    .name = "fused_relu_batch_norm_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_relu_batch_norm_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, "
        "running_mean=None, running_var=None, bn_weight=None, bn_bias=None, training=False, momentum=0.1, eps=1e-5, "
        "inplace=False) -> Tensor",
    .summary =
        "ReLU of the batch norm of a 2-d convolution; in training with the batch's statistics, which also move the "
        "running ones.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, running_mean=None, "
        "running_var=None, bn_weight=None, bn_bias=None, training=False, momentum=0.1, eps=1e-5, inplace=False: "
        "F.relu(F.batch_norm(F.conv2d(input, weight, bias, stride, padding, dilation, groups), running_mean, "
        "running_var, bn_weight, bn_bias, training, momentum, eps), inplace)",
    .c_items = "kg_dim(weight, 0)",
    .c_body =
        "// Item i is a channel: its convolution goes to out, and is normalised there.\n"
        "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), filters = kg_dim(out, -3), o = i;\n"
        "const int64_t values = kg_dim(out, 0) * height * width;\n"
        "for (int64_t k = 0; k < values; k++) {\n"
        "const int64_t q = k % width, p = k / width % height, n = k / (width * height);\n"
        KG_CONV_SUM("")
        "kg_put(out, ((n * filters + o) * height + p) * width + q, sum);\n"
        "}\n"
        "double mean = 0, var = 0;\n"
        "const int64_t plane = height * width;\n"
        "if (training) {\n"
        "    for (int64_t k = 0; k < values; k++)\n"
        "        mean += kg_get(out, (k / plane * filters + o) * plane + k % plane);\n"
        "    mean /= (double)values;\n"
        "    for (int64_t k = 0; k < values; k++) {\n"
        "        const double d = kg_get(out, (k / plane * filters + o) * plane + k % plane) - mean;\n"
        "        var += d * d;\n"
        "    }\n"
        "    var /= (double)values;\n"
        "    if (running_mean) kg_put(running_mean, o, (1 - momentum) * kg_get(running_mean, o) + momentum * mean);\n"
        "    if (running_var)\n"
        "        kg_put(running_var, o, (1 - momentum) * kg_get(running_var, o) +\n"
        "                                   momentum * var * (double)values / (double)(values - 1));\n"
        "} else {\n"
        "    mean = kg_get(running_mean, o);\n"
        "    var = kg_get(running_var, o);\n"
        "}\n"
        "const double scale = (bn_weight ? kg_get(bn_weight, o) : 1.0) / sqrt(var + eps);\n"
        "const double shift = bn_bias ? kg_get(bn_bias, o) : 0.0;\n"
        "for (int64_t k = 0; k < values; k++) {\n"
        "    const int64_t at = (k / plane * filters + o) * plane + k % plane;\n"
        "    const double y = (kg_get(out, at) - mean) * scale + shift;\n"
        "    kg_put(out, at, y > 0 || y != y ? y : 0.0);\n"
        "}\n",
};
