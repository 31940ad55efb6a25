// fused_dropout_relu_batch_norm_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, p=0.5,
//                                      training=True, inplace=False) -> Tensor
//
// dropout(relu(batch_norm(conv2d(input, weight, bias)))). input is (N, C, H, W); convolution and padding as conv2d's
// (conv2d.c: C gets padding as ints). No running statistics are given, so the batch's normalise, training or not: each
// channel less its mean, over sqrt(biased variance + 1e-5), without weights. (A bias goes out again with the mean.)
// training = False leaves dropout out. A channel of one element or none PyTorch refuses, so there is no such case.
// inplace drops in an intermediate result's memory, which nobody else sees: it changes nothing.
//
// Judged as src/task/dropout.h says; where relu gives 0 the mask does not show. Bounds: the convolution as a product
// (oracle/product.c), the norm (kg_stage_batch_norm), relu passes on what errors it gets; in
// half precision every stage may be stored. Of results too large to look at, two channels are.
#include <stdlib.h>

#include "base/parallel.h"
#include "task/bmm_dropout.h"
#include "task/shared.h"

#define EPS 1e-5

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "stride", .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "padding", .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = 0},
    {.name = "dilation", .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "groups", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    KG_P_PARAM("p", 0.5),
    KG_FLAG_PARAM("training", 1),
    KG_FLAG_PARAM("inplace", 0),
    KG_SEED_PARAM,
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor weight) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_FACTORS);
    kg_set_strided(c, b->task, "weight", weight, KG_FACTORS);
    return c;
}
static kg_case *with_bias(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    kg_set_tensor(c, b->task, "bias", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(1, 2));
    return c;
}
static kg_case *one(kg_cases *b, kg_case *c, const char *param, int64_t v) {
    kg_set_ints(c, b->task, param, KG_INTS(v));
    c->args[kg_param_index(b->task, param)].scalar = true;
    return c;
}
static kg_case *two(kg_cases *b, kg_case *c, const char *param, int64_t v, int64_t w) {
    kg_set_ints(c, b->task, param, KG_INTS(v, w));
    return c;
}
static kg_case *text(kg_cases *b, kg_case *c, const char *padding) {
    two(b, c, "padding", 0, 0)->args[PADDING].s = padding;  // infer resolves it
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *plain(kg_cases *b) {
    const kg_dtype t = KG_F32;
    return with_bias(b, add(b, DENSE(3, 3, 20, 21), DENSE(9, 3, 3, 3)));
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    static const double p[] = {0, 0.1, 0.25, 0.9, 1};
    kg_dtype t = KG_F32;
    plain(b);
    add(b, DENSE(3, 3, 20, 21), DENSE(9, 3, 3, 3));
    add(b, DENSE(1, 1, 1, 2), DENSE(1, 1, 1, 1));
    add(b, DENSE(1, 3, 33, 34), DENSE(16, 3, 3, 3));
    add(b, DENSE(16, 65, 3, 3), DENSE(33, 65, 3, 3));  // one position: statistics over the batch alone
    add(b, DENSE(2, 65, 9, 9), DENSE(33, 65, 1, 1));
    add(b, DENSE(3, 4099, 7, 8), DENSE(2, 4099, 1, 1));
    add(b, DENSE(3, 2, 22, 9), DENSE(5, 2, 11, 2));
    add(b, DENSE(3, 2, 9, 22), DENSE(5, 2, 2, 11));
    one(b, plain(b), "stride", 2);
    two(b, plain(b), "stride", 2, 3);
    one(b, plain(b), "padding", 1);
    two(b, plain(b), "padding", 1, 2);
    text(b, plain(b), "valid");
    text(b, with_bias(b, add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 4, 3))), "same");
    one(b, plain(b), "dilation", 2);
    two(b, one(b, plain(b), "padding", 2), "dilation", 2, 3);
    kg_set_int(with_bias(b, add(b, DENSE(2, 6, 15, 15), DENSE(8, 3, 3, 3))), b->task, "groups", 2);
    kg_set_int(one(b, add(b, DENSE(2, 8, 16, 16), DENSE(8, 1, 3, 3)), "padding", 1), b->task, "groups", 8);
    // Options two by two.
    two(b, two(b, plain(b), "stride", 2, 3), "padding", 2, 1);
    two(b, two(b, plain(b), "dilation", 2, 3), "stride", 3, 2);
    kg_case *c = with_bias(b, add(b, kg_tensor_transposed(t, KG_SHAPE(2, 6, 15, 16), 1, 3), DENSE(8, 3, 3, 5)));
    kg_set_int(two(b, two(b, c, "stride", 1, 2), "padding", 1, 2), b->task, "groups", 2);
    kg_set_int(two(b, add(b, DENSE(2, 6, 15, 16), DENSE(8, 3, 3, 2)), "dilation", 2, 3), b->task, "groups", 2);
    c = with_bias(b, add(b, DENSE(2, 4, 15, 16), DENSE(8, 1, 3, 3)));
    kg_set_int(one(b, c, "padding", 1), b->task, "groups", 4);
    add(b, kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 19), 1, 3), kg_tensor_transposed(t, KG_SHAPE(5, 3, 3, 3), 0, 1));
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) kg_set_float(plain(b), b->task, "p", p[i]);
    kg_set_bool(plain(b), b->task, "training", false);
    kg_set_bool(plain(b), b->task, "inplace", true);
    kg_set_none(plain(b), b->task, "bias");
    c = one(b, plain(b), "padding", 1);  // the same values in both calls; only the edges differ
    c->args[INPUT].fill = c->args[WEIGHT].fill = c->args[BIAS].fill = (kg_fill){KG_FILL_CONST, -0.5, 0};
    c = add(b, DENSE(2, 3, 17, 19), DENSE(5, 3, 3, 3));  // so small that eps decides
    c->args[INPUT].fill = KG_NORMAL(0, 1e-3);
    kg_set_bool(plain(b), b->task, "training", false);  // what is dropped need not stay NaN
    b->items[b->n - 1].args[WEIGHT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        t = others[i];
        with_bias(b, add(b, DENSE(2, 5, 17, 19), DENSE(8, 5, 3, 3)));
    }
}

static void full(kg_cases *b) {
    kg_dtype t = KG_F32;
    one(b, one(b, with_bias(b, add(b, DENSE(2, 16, 31, 33), DENSE(24, 16, 3, 3))), "padding", 1), "stride", 2);
    one(b, add(b, DENSE(2, 8, 20, 21), DENSE(8, 8, 7, 7)), "padding", 3);
    one(b, add(b, DENSE(1, 3, 65, 64), DENSE(32, 3, 3, 3)), "padding", 1);
    add(b, DENSE(7, 3, 17, 19), DENSE(8, 3, 3, 3))->args[INPUT].fill = KG_OUTLIERS(0, 1);
    t = KG_F16;
    kg_set_float(add(b, DENSE(2, 64, 9, 9), DENSE(16, 64, 3, 3)), b->task, "p", 0.2);
}

static int cases(kg_cases *b) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const kg_dtype t = KG_F32;
    for (int64_t n = 32; n <= (cuda ? 2048 : 128); n *= 2) with_bias(b, add(b, DENSE(1, 3, n, n), DENSE(64, 3, 3, 3)));
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    if (c->args[INPUT].tensor.ndim != 4 || kg_conv2d_infer(t, c)) return -1;
    const kg_tensor *out = &c->outs[0];
    return out->shape[0] * out->shape[2] * out->shape[3] > 1 ? 0 : -1;
}

// ---- what must hold -------------------------------------------------------------------------------
// Where element i of a channel lies in the output.
typedef struct {
    int64_t image, channels, channel;  // image: H W of the output
} layout;
static layout layout_of(const kg_tensor *out) { return (layout){out->shape[2] * out->shape[3], out->shape[1], 0}; }
static int64_t element(const layout *l, int64_t i) {
    return (i / l->image * l->channels + l->channel) * l->image + i % l->image;
}

typedef struct {
    const kg_call *call;
    layout l;
    kg_stage *s;
} convolution;

static int convolve(size_t first, size_t last, void *ctx) {
    const convolution *v = ctx;
    const size_t n = last - first;
    int64_t *index = malloc(n * sizeof *index);
    double *x = malloc(3 * n * sizeof *x);
    int rc = index && x ? 0 : -1;
    for (size_t i = 0; i < n && !rc; i++) index[i] = element(&v->l, (int64_t)(first + i));
    kg_ref ref = {0, n, index, x, x ? x + n : NULL, x ? x + 2 * n : NULL};
    if (!rc) rc = kg_conv2d_oracle(v->call, &ref);
    for (size_t i = 0; i < n && !rc; i++) v->s->at[first + i] = (kg_term){x[i], x[n + i], x[2 * n + i]};
    free(index);
    free(x);
    return rc;
}

static kg_point relu(double x, const void *ctx) {
    (void)ctx;
    return kg_relu_point(x);
}

static int normalised_channel(const kg_call *call, const layout *l, kg_stage *s) {
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    convolution v = {call, *l, s};
    if (kg_parallel((size_t)s->n, 4096, convolve, &v)) return -1;
    kg_stage_stored(&r, s);
    kg_stage_batch_norm(&r, s, EPS);
    kg_stage_stored(&r, s);
    kg_stage_map(&r, s, relu, NULL);
    return 0;
}

static int before(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    layout l = layout_of(out);
    kg_stage s = {.n = out->shape[0] * l.image};
    s.at = malloc((size_t)s.n * sizeof *s.at + 1);
    int rc = s.at ? 0 : -1;
    for (l.channel = 0; l.channel < l.channels && !rc; l.channel++) {
        bool made = false;
        for (size_t k = 0; k < ref->n && !rc; k++) {
            const int64_t i = ref->index[k];
            if (i / l.image % l.channels != l.channel) continue;
            if (!made) rc = normalised_channel(call, &l, &s);
            made = true;
            if (!rc) kg_term_put(ref, k, s.at[i / (l.image * l.channels) * l.image + i % l.image]);
        }
    }
    free(s.at);
    return rc;
}

// Two channels, which the seed chooses.
static int64_t of_part(int64_t i, uint64_t seed, const void *ctx) {
    const kg_tensor *out = ctx;
    layout l = layout_of(out);
    const int64_t n = out->shape[0] * l.image;
    const int64_t first = (int64_t)(seed % (uint64_t)l.channels);
    const int64_t apart = l.channels > 1 ? 1 + (int64_t)(seed >> 32) % (l.channels - 1) : 0;
    l.channel = (first + i / n * apart) % l.channels;
    return element(&l, i % n);
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_tensor part = kg_tensor_contiguous(
        out->dtype, KG_SHAPE(out->shape[1] > 1 ? 2 : 1, out->shape[0], out->shape[2], out->shape[3]));
    const kg_dropout d = {
        .p = kg_dropout_p(call, "p"), .before = before, .ctx = out, .whole = true, .part = &part, .of_part = of_part};
    return kg_dropout_holds(call, a, h, &d);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_conv2d_work(t, c, w);
    w->ops[kg_plain_unit(c->outs[0].dtype)] += 8 * (double)kg_numel(&c->outs[0]);
}

const kg_task kg_task_kbx_fused_dropout_relu_batch_norm_conv2d = {
    .name = "fused_dropout_relu_batch_norm_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_dropout_relu_batch_norm_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, "
        "p=0.5, training=True, inplace=False) -> Tensor",
    .summary = "A 2-d convolution, batch norm by the batch's own statistics without weights, ReLU, dropout.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .reach = kg_conv2d_reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, p=0.5, training=True, "
        "inplace=False: F.dropout(F.relu(F.batch_norm(F.conv2d(input, weight, bias, stride, padding, dilation, "
        "groups), None, None, training=True)), p, training, inplace)",
    .c_items = "kg_elements(out) ? kg_dim(out, 1) : 0",
    .c_body =
        "// Item i is a channel: its mean, its variance, then its outputs.\n"
        "const int64_t width = kg_dim(out, 3), height = kg_dim(out, 2), filters = kg_dim(out, 1), channels = kg_dim(weight, 1);\n"
        "const int64_t image = width * height, n = kg_dim(out, 0) * image, first = i / (filters / groups) * channels;\n"
        "const double scale = training ? 1.0 - p : 1.0;\n"
        "double mean = 0, variance = 0;\n"
        "for (int64_t turn = 0; turn < 3; turn++)\n"
        "    for (int64_t e = 0; e < n; e++) {\n"
        "        const int64_t at = (e / image * filters + i) * image + e % image;\n"
        "        double x = bias ? kg_get(bias, i) : 0.0;\n"
        "        for (int64_t k = 0; k < channels * kg_dim(weight, 2) * kg_dim(weight, 3); k++) {\n"
        "            const int64_t s = k % kg_dim(weight, 3), r = k / kg_dim(weight, 3) % kg_dim(weight, 2);\n"
        "            const int64_t c = k / (kg_dim(weight, 3) * kg_dim(weight, 2));\n"
        "            const int64_t y = e % image / width * stride->v[0] - padding->v[0] + r * dilation->v[0];\n"
        "            const int64_t z = e % width * stride->v[stride->n - 1] - padding->v[padding->n - 1] + s * dilation->v[dilation->n - 1];\n"
        "            if (y < 0 || y >= kg_dim(input, 2) || z < 0 || z >= kg_dim(input, 3)) continue;\n"
        "            x += kg_get(weight, i * channels * kg_dim(weight, 2) * kg_dim(weight, 3) + k) *\n"
        "                 kg_get(input, ((e / image * kg_dim(input, 1) + first + c) * kg_dim(input, 2) + y) * kg_dim(input, 3) + z);\n"
        "        }\n"
        "        if (turn == 0) mean += x / (double)n;\n"
        "        else if (turn == 1) variance += (x - mean) * (x - mean) / (double)n;\n"
        "        else {\n"
        "            const double y = (x - mean) / sqrt(variance + 1e-5);\n"
        "            const bool dropped = training && kg_uniform(seed, at) < p;\n"
        "            kg_put(out, at, dropped || y < 0 ? 0.0 : y / scale);\n"
        "        }\n"
        "    }\n",
};
