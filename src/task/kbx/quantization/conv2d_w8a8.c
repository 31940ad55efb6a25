// conv2d_w8a8(input: Tensor, weight: Tensor, bias: Tensor = None, stride: int = 1, padding: int = 0) -> Tensor
//
// input (N, C, H, W) or (C, H, W), weight (O, C, R, S), float32. A contract of arithmetic: both quantised to int8,
// exact int32 sums, dequantised, then the bias added in float. The text calls this one design and does not say what has
// a scale of its own. So every grain that an exact integer sum allows is right: one for input or for each image; one
// for weight or for each output channel. Symmetric and divided by 127, 127.5 or 128, as matmul_w8a8. (A scale for each
// patch is no int8 input tensor, which the maths asks for.)
//
// Bounds: src/oracle/quantise.h, and the bias rounds with the sum.
#include <stdlib.h>

#include "task/quantised.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "stride", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "padding", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 0},
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING };

#define DESIGNS(scale, grid)                                                                           \
    KG_QUANT_READING(scale, grid, "scales by tensor and output channel", KG_BY_TENSOR, KG_BY_LINE),    \
        KG_QUANT_READING(scale, grid, "scales by tensor", KG_BY_TENSOR, KG_BY_TENSOR),                 \
        KG_QUANT_READING(scale, grid, "scales by image and output channel", KG_BY_MATRIX, KG_BY_LINE), \
        KG_QUANT_READING(scale, grid, "scales of input by image, of weight by tensor", KG_BY_MATRIX, KG_BY_TENSOR)
static const kg_reading readings[] = {
    KG_INT8_READINGS(DESIGNS),
    KG_WRONG_READING("float", KG_NO_QUANTISATION("the convolution", "int8"), KG_NOT_QUANTISED),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_TENSOR, KG_BY_LINE, true),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_TENSOR, KG_BY_TENSOR, true),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_MATRIX, KG_BY_LINE, true),
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor weight) {
    kg_case *c = kg_case_add(b);
    const kg_fill fill = weight.shape[1] * weight.shape[2] * weight.shape[3] < 8 ? KG_NOT_SMALL : KG_FACTORS;
    kg_set_strided(c, b->task, "input", input, fill);
    kg_set_strided(c, b->task, "weight", weight, fill);
    return c;
}

static kg_case *with_bias(kg_cases *b, kg_case *c) {
    kg_set_tensor(c, b->task, "bias", KG_F32, KG_SHAPE(c->args[WEIGHT].tensor.shape[0]), KG_NORMAL(1, 4));
    return c;
}

static kg_case *moved(kg_cases *b, kg_case *c, int64_t stride, int64_t padding) {
    if (stride != 1) kg_set_int(c, b->task, "stride", stride);
    if (padding) kg_set_int(c, b->task, "padding", padding);
    return c;
}

#define DENSE(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    with_bias(b, add(b, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3)));
    add(b, DENSE(2, 3, 17, 19), DENSE(5, 3, 3, 3));
    add(b, DENSE(3, 9, 11), DENSE(4, 3, 3, 3));  // no batch dimension
    moved(b, with_bias(b, add(b, DENSE(3, 9, 11), DENSE(4, 3, 3, 3))), 2, 1);
    add(b, DENSE(1, 1, 1, 1), DENSE(1, 1, 1, 1));
    add(b, DENSE(0, 3, 9, 9), DENSE(4, 3, 3, 3));
    moved(b, add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), 2, 0);
    moved(b, add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5)), 3, 0);
    moved(b, with_bias(b, add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3))), 1, 1);
    moved(b, with_bias(b, add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5))), 1, 2);
    moved(b, add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 4, 2)), 2, 1);
    moved(b, with_bias(b, add(b, DENSE(2, 8, 11, 9), DENSE(6, 8, 5, 5))), 2, 3);
    add(b, DENSE(2, 65, 7, 7), DENSE(33, 65, 1, 1));
    add(b, DENSE(3, 2, 33, 61), DENSE(3, 2, 3, 3));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 19), 1, 3), DENSE(5, 3, 3, 3));
    kg_case *c = with_bias(b, add(b, DENSE(2, 3, 9, 9), DENSE(7, 3, 3, 3)));
    c->args[BIAS].tensor = kg_tensor_stepped(KG_F32, KG_SHAPE(7), 3);
    with_bias(b, add(b, DENSE(2, 3, 9, 9), DENSE(4, 3, 3, 3)))->args[INPUT].fill = (kg_fill){.kind = KG_FILL_ZERO};
    with_bias(b, add(b, DENSE(2, 3, 9, 9), DENSE(4, 3, 3, 3)))->args[WEIGHT].fill = (kg_fill){.kind = KG_FILL_ZERO};
    // Sums past 2^24, where adding in float32 loses the last integers.
    c = add(b, DENSE(2, 8193, 1, 2), DENSE(3, 8193, 1, 1));
    c->args[INPUT].fill = c->args[WEIGHT].fill = KG_NORMAL(5, 1);
    // Images, and channels, of zeros between others.
    add(b, DENSE(9, 1, 1, 1), DENSE(5, 1, 1, 1))->args[INPUT].fill = (kg_fill){.kind = KG_FILL_TIES};
    add(b, DENSE(2, 1, 3, 3), DENSE(9, 1, 1, 1))->args[WEIGHT].fill = (kg_fill){.kind = KG_FILL_TIES};
    add(b, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3))->args[INPUT].fill = KG_OUTLIERS(0, 1);
    add(b, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3))->args[WEIGHT].fill = KG_OUTLIERS(0, 1);
    add(b, DENSE(3, 4, 9, 8), DENSE(5, 4, 3, 3))->args[INPUT].fill = KG_NORMAL(5, 1);
    add(b, DENSE(3, 4, 9, 8), DENSE(5, 4, 3, 3))->args[INPUT].fill = KG_UNIFORM(-1, 1);
    for (int i = INPUT; i <= WEIGHT; i++) add(b, DENSE(2, 8, 9, 8), DENSE(5, 8, 3, 3))->args[i].fill = KG_SMALL;
}

static void full(kg_cases *b) {
    moved(b, with_bias(b, add(b, DENSE(2, 16, 31, 33), DENSE(24, 16, 3, 3))), 2, 1);
    moved(b, add(b, DENSE(2, 8, 20, 21), DENSE(8, 8, 7, 7)), 1, 3);
    add(b, DENSE(1, 4, 9, 9), DENSE(3, 4, 9, 9));  // one output position
    add(b, DENSE(1, 256, 10, 10), DENSE(16, 256, 3, 3));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 19), 2, 3),
        kg_tensor_transposed(KG_F32, KG_SHAPE(5, 3, 3, 3), 0, 1));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(3, 2, 9, 9), 0), DENSE(4, 2, 3, 3));
    moved(b, add(b, DENSE(1, 2, 2, 2), DENSE(3, 2, 4, 4)), 1, 1);  // every patch reaches outside
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
    } else if (b->level == KG_TIMED_CUDA) {
        add(b, DENSE(1, 3, 224, 224), DENSE(64, 3, 7, 7));
        add(b, DENSE(2, 64, 56, 56), DENSE(128, 64, 3, 3));
        add(b, DENSE(4, 128, 28, 28), DENSE(256, 128, 3, 3));
    } else {
        add(b, DENSE(1, 3, 64, 64), DENSE(32, 3, 7, 7));
        add(b, DENSE(1, 32, 28, 28), DENSE(32, 32, 3, 3));
        add(b, DENSE(2, 64, 14, 14), DENSE(64, 64, 3, 3));
    }
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[INPUT].tensor, *w = &c->args[WEIGHT].tensor;
    if ((x->ndim != 3 && x->ndim != 4) || w->ndim != 4 || x->dtype != KG_F32 || w->dtype != KG_F32) return -1;
    const int channel = x->ndim - 3;
    if (x->shape[channel] != w->shape[1]) return -1;
    int64_t shape[4] = {x->shape[0]};
    shape[channel] = w->shape[0];
    for (int k = 1; k <= 2; k++) {
        const int64_t padded = x->shape[channel + k] + 2 * c->args[PADDING].i;
        if (padded < w->shape[1 + k]) return -1;
        shape[channel + k] = (padded - w->shape[1 + k]) / c->args[STRIDE].i + 1;
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(KG_F32, x->ndim, shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_maxima images, weight;
} maxima;

static void release(void *prepared) {
    maxima *m = prepared;
    if (m) {
        kg_maxima_free(&m->images);
        kg_maxima_free(&m->weight);
    }
    free(m);
}

static void *prepare(const kg_call *call) {
    const kg_view *x = &call->args[INPUT];
    maxima *m = calloc(1, sizeof *m);
    if (m && !kg_maxima_of(&m->images, x, 7 << (x->desc.ndim - 3)) &&
        !kg_maxima_of(&m->weight, &call->args[WEIGHT], 14))
        return m;
    release(m);
    return NULL;
}

static int64_t terms(const kg_case *c) {
    const int64_t *w = c->args[WEIGHT].tensor.shape;
    return w[1] * w[2] * w[3];
}

// A filter, and the patch of an image (zero outside of it) that meets it in output (p, q).
static void read_filter(const kg_call *call, int64_t o, double *to) {
    const kg_view *w = &call->args[WEIGHT];
    for (int64_t k = 0; k < terms(call->c); k++) to[k] = kg_at(w, o * terms(call->c) + k);
}

static void read_patch(const kg_call *call, int64_t image, int64_t p, int64_t q, double *to) {
    const kg_view *x = &call->args[INPUT];
    const int64_t *w = call->args[WEIGHT].desc.shape, *shape = x->desc.shape + x->desc.ndim - 3;
    const int64_t *step = x->desc.stride + x->desc.ndim - 3, start = x->desc.ndim == 4 ? image * x->desc.stride[0] : 0;
    const int64_t top = p * call->c->args[STRIDE].i - call->c->args[PADDING].i;
    const int64_t left = q * call->c->args[STRIDE].i - call->c->args[PADDING].i;
    for (int64_t channel = 0; channel < w[1]; channel++)
        for (int64_t y = top; y < top + w[2]; y++)
            for (int64_t z = left; z < left + w[3]; z++) {
                const bool inside = y >= 0 && y < shape[1] && z >= 0 && z < shape[2];
                *to++ = inside ? kg_at_offset(x, start + channel * step[0] + y * step[1] + z * step[2]) : 0;
            }
}

// A filter and a patch: as they are, and quantised.
typedef struct {
    double *x, *w;
    kg_quants qx, qw;
} space;

static int space_make(space *s, int64_t n) {
    s->x = malloc(2 * ((size_t)n + 1) * sizeof *s->x);
    s->w = s->x + n + 1;
    return kg_quants_make(&s->qx, n) || kg_quants_make(&s->qw, n) || !s->x ? -1 : 0;
}

static void space_free(space *s) {
    kg_quants_free(&s->qx);
    kg_quants_free(&s->qw);
    free(s->x);
}

static kg_quant_value product(const kg_call *call, space *s, int64_t image, int64_t o) {
    const maxima *m = call->prepared;
    const int *choice = call->reading->choice;
    const kg_grid *grid = &kg_int8_grids[choice[0]];
    const int64_t n = terms(call->c);
    if (choice[1] == KG_NOT_QUANTISED) return kg_plain_product(s->x, s->w, n);
    kg_quantise(&s->qx, s->x, NULL, n, kg_scale_from(&m->images, image, s->x, n, (kg_grain)choice[1]), 0, grid);
    kg_quantise(&s->qw, s->w, NULL, n, kg_scale_from(&m->weight, o, s->w, n, (kg_grain)choice[2]), 0, grid);
    if (choice[3]) return kg_float_product(&s->qx, &s->qw, n);
    return kg_dequantise(&s->qx, &s->qw, kg_quant_dot(&s->qx, &s->qw, n));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const int64_t width = out->shape[out->ndim - 1], height = out->shape[out->ndim - 2];
    const int64_t filters = call->args[WEIGHT].desc.shape[0];
    const kg_view bias = kg_call_view(call, "bias");
    space s = {0};
    const int failed = space_make(&s, terms(call->c));
    for (size_t k = 0; k < ref->n && !failed; k++) {
        const int64_t q = ref->index[k] % width, p = ref->index[k] / width % height;
        const int64_t o = ref->index[k] / (width * height) % filters,
                      image = ref->index[k] / (width * height * filters);
        read_filter(call, o, s.w);
        read_patch(call, image, p, q, s.x);
        const kg_quant_value v = product(call, &s, image, o);
        const double added = bias.data ? kg_at(&bias, o) : 0;
        ref->value[k] = v.value + added;
        ref->local[k] = v.arithmetic + fabs(added);
        ref->acc[k] = KG_ABSOLUTE(v.slack);
    }
    space_free(&s);
    return failed ? -1 : 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_int8_work(t, c, w, (double)terms(c)); }

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 8 * (double)terms(c));
}

const kg_task kg_task_kbx_conv2d_w8a8 = {
    .name = "conv2d_w8a8",
    .suite = "kbx",
    .category = "Quantization",
    .signature =
        "conv2d_w8a8(input: Tensor, weight: Tensor, bias: Tensor = None, stride: int = 1, padding: int = 0) -> "
        "Tensor",
    .summary = "Convolution through int8: symmetric scales of any one grain, exact sums, the bias in float.",
    .params = params,
    .outputs = kg_outputs_product,
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
    // The library has no int8 convolution on CUDA. Integers this small are exact in float32 and tf32 alike, and so are
    // their sums up to 2^24.
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0: (lambda s, t: F.conv2d((input / s).round(), "
        "(weight / t).round(), None, stride, padding) * (s * t.view(-1, 1, 1)) + (0 if bias is None else "
        "bias.view(-1, 1, 1)))((input.abs().max() / 127 if input.numel() else input.new_ones(())).clamp(min=1e-30), "
        "(weight.abs().amax((1, 2, 3), keepdim=True) / 127).clamp(min=1e-30))",
    .c_items = "kg_dim(out, -3)",
    .c_body =
        "// Item i is an output channel. One scale for input, one for the channel's filter.\n"
        "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), channels = kg_dim(weight, 1);\n"
        "const int64_t rows = kg_dim(weight, 2), columns = kg_dim(weight, 3), terms = channels * rows * columns;\n"
        "const int64_t images = input->ndim == 4 ? kg_dim(input, 0) : 1;\n"
        "double s = 0, t = 0;\n"
        "for (int64_t k = 0; k < kg_elements(input); k++) s = fmax(s, fabs(kg_get(input, k)));\n"
        "for (int64_t k = 0; k < terms; k++) t = fmax(t, fabs(kg_get(weight, i * terms + k)));\n"
        "s /= 127.0;\n"
        "t /= 127.0;\n"
        "for (int64_t at = 0; at < images * height * width; at++) {\n"
        "    const int64_t n = at / (height * width), p = at / width % height, q = at % width;\n"
        "    int64_t sum = 0;\n"
        "    for (int64_t k = 0; s > 0 && t > 0 && k < terms; k++) {\n"
        "        const int64_t c = k / (rows * columns);\n"
        "        const int64_t y = p * stride - padding + k / columns % rows, z = q * stride - padding + k % columns;\n"
        "        if (y < 0 || y >= kg_dim(input, -2) || z < 0 || z >= kg_dim(input, -1)) continue;\n"
        "        const int64_t x = ((n * channels + c) * kg_dim(input, -2) + y) * kg_dim(input, -1) + z;\n"
        "        sum += (int64_t)rint(kg_get(input, x) / s) * (int64_t)rint(kg_get(weight, i * terms + k) / t);\n"
        "    }\n"
        "    kg_put(out, ((n * kg_dim(out, -3) + i) * height + p) * width + q,\n"
        "           (double)sum * s * t + (bias ? kg_get(bias, i) : 0.0));\n"
        "}\n",
};
