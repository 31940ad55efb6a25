// conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor
//
// input (N, C, H, W) or (C, H, W), weight (O, C / groups, R, S). padding is ints or, in Python, 'valid' or 'same'.
//
// How padding crosses to C: always as ints, the zeros before the first row and column. How many follow the last ones
// is said by the shape of out: an element outside the input is zero. 'valid' is 0. 'same' is dilation (R - 1) / 2
// rounded down: where that total is odd, PyTorch puts the odd zero behind. So a kernel never sees the text.
//
// Bounds: a product of C / groups * R * S terms (src/oracle/product.c), the zeros outside among them. A Winograd kernel
// with large tiles errs several times more than a direct one (Lavin & Gray, "Fast algorithms for convolutional neural
// networks", CVPR 2016), which may place it at tf32: still right.
#include <string.h>

#include "task/convolutions.h"
#include "task/shared.h"

const kg_param kg_conv2d_params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "stride", .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "padding", .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = 0},
    {.name = "dilation", .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "groups", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, GROUPS };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *with_bias(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    kg_set_tensor(c, b->task, "bias", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(1, 4));
    return c;
}

static kg_case *with_stepped_bias(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    kg_set_strided(c, b->task, "bias", kg_tensor_stepped(w->dtype, KG_SHAPE(w->shape[0]), 3), KG_NORMAL(1, 4));
    return c;
}

static kg_case *text(kg_cases *b, kg_case *c, const char *padding) {
    kg_conv_two(b, c, "padding", 0, 0)->args[PADDING].s = padding;  // infer resolves it
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    const kg_dtype t = KG_F32;
    with_bias(b, kg_conv_add(b, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3)));
    kg_conv_add(b, DENSE(2, 3, 17, 19), DENSE(5, 3, 3, 3));
    kg_conv_add(b, DENSE(3, 9, 11), DENSE(4, 3, 3, 3));  // no batch dimension
    kg_conv_add(b, DENSE(1, 1, 1, 1), DENSE(1, 1, 1, 1));
    kg_conv_add(b, DENSE(0, 3, 9, 9), DENSE(4, 3, 3, 3));
    kg_conv_one(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "stride", 2);
    kg_conv_two(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5)), "stride", 2, 3);
    kg_conv_one(b, with_bias(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3))), "padding", 1);
    kg_conv_two(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5)), "padding", 1, 2);
    text(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "valid");
    text(b, with_bias(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5))), "same");
    text(b, kg_conv_add(b, DENSE(2, 4, 13, 14), DENSE(6, 4, 4, 2)), "same");  // even: one more zero behind
    kg_conv_one(b, kg_conv_add(b, DENSE(2, 4, 15, 16), DENSE(6, 4, 3, 3)), "dilation", 2);
    kg_conv_two(b, text(b, kg_conv_add(b, DENSE(2, 4, 15, 16), DENSE(6, 4, 3, 2)), "same"), "dilation", 2, 3);
    kg_conv_grouped(b, with_bias(b, kg_conv_add(b, DENSE(2, 6, 9, 9), DENSE(4, 3, 3, 3))), 2);
    kg_conv_grouped(b, kg_conv_one(b, kg_conv_add(b, DENSE(2, 8, 12, 12), DENSE(8, 1, 3, 3)), "padding", 1),
                    8);  // depthwise
    kg_conv_add(b, DENSE(2, 65, 7, 7), DENSE(33, 65, 1, 1));
    kg_conv_add(b, kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 19), 1, 3), DENSE(5, 3, 3, 3));
    kg_conv_one(b,
                with_bias(b, kg_conv_add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(2, 16, 9, 9)),
                                         kg_tensor_contiguous(KG_F16, KG_SHAPE(8, 16, 3, 3)))),
                "padding", 1);
    kg_conv_one(b,
                kg_conv_add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(2, 16, 9, 9)),
                            kg_tensor_contiguous(KG_BF16, KG_SHAPE(8, 16, 3, 3))),
                "padding", 1);
    with_stepped_bias(b, kg_conv_add(b, DENSE(2, 3, 9, 9), DENSE(7, 3, 3, 3)));
    // Filters of three rows and one column meet at most one special value, and weights of 0 and 1 no overflow.
    kg_case *c = kg_conv_one(b, with_bias(b, kg_conv_add(b, DENSE(2, 1, 9, 17), DENSE(5, 1, 3, 1))), "padding", 1);
    c->args[INPUT].fill = KG_SPECIALS(0, 1);
    c->args[WEIGHT].fill = KG_INTEGERS(-1, 1);
    c = kg_conv_add(b, DENSE(2, 1, 9, 17), DENSE(33, 1, 1, 1));
    c->args[INPUT].fill = KG_INTEGERS(-1, 1);
    c->args[WEIGHT].fill = KG_SPECIALS(0, 1);
    with_bias(b, kg_conv_add(b, DENSE(2, 3, 5, 4), DENSE(33, 3, 3, 3)))->args[BIAS].fill = KG_SPECIALS(0, 1);
    kg_conv_add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(2, 3, 9, 9)),
                kg_tensor_contiguous(KG_F64, KG_SHAPE(4, 3, 3, 3)));
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    kg_conv_one(b,
                kg_conv_one(b, with_bias(b, kg_conv_add(b, DENSE(2, 16, 31, 33), DENSE(24, 16, 3, 3))), "padding", 1),
                "stride", 2);
    kg_conv_one(b, kg_conv_add(b, DENSE(2, 8, 20, 21), DENSE(8, 8, 7, 7)), "padding", 3);
    kg_conv_one(b, kg_conv_add(b, DENSE(2, 8, 20, 21), DENSE(8, 8, 5, 5)), "padding", 2);
    kg_conv_two(b, kg_conv_two(b, kg_conv_add(b, DENSE(1, 4, 23, 29), DENSE(6, 4, 3, 3)), "padding", 2, 0), "dilation",
                3, 2);
    kg_conv_add(b, DENSE(1, 4, 9, 9), DENSE(3, 4, 9, 9));  // one output position
    kg_conv_grouped(b, text(b, kg_conv_add(b, DENSE(1, 12, 10, 11), DENSE(24, 1, 3, 3)), "same"),
                    12);  // two filters a channel
    kg_conv_add(b, DENSE(1, 256, 10, 10), DENSE(16, 256, 3, 3));
    kg_conv_add(b, kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 19), 2, 3),
                kg_tensor_transposed(t, KG_SHAPE(5, 3, 3, 3), 0, 1));
    kg_conv_add(b, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3))->args[INPUT].fill = KG_OUTLIERS(0, 1);
    kg_conv_one(b, with_bias(b, kg_conv_add(b, DENSE(3, 9, 11), DENSE(4, 3, 3, 3))), "padding", 1);
}

static void timed(kg_cases *b, int64_t n, int64_t channels, int64_t image) {
    const kg_dtype t = KG_F32;
    with_bias(b, kg_conv_add(b, DENSE(n, channels, image, image), DENSE(2 * channels, channels, 3, 3)));
}
#undef DENSE

int kg_conv2d_cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 2; n <= (cuda ? 128 : 16); n *= 2) timed(b, n, 8 * n, 16);
    if (!cuda) timed(b, 1, 32, 112);
    return 0;
}

// ---- shapes ---------------------------------------------------------------------------------------
// 'valid' and 'same' as the zeros in front; *same: the output has the input's size.
static int resolve_padding(kg_case *c, bool *same) {
    kg_arg *a = &c->args[PADDING];
    *same = a->s && !strcmp(a->s, "same");
    if (!a->s) return 0;
    if (!*same && strcmp(a->s, "valid")) return -1;
    a->n = 2;
    for (int k = 0; k < 2; k++) {
        if (*same && kg_conv_entry(c, STRIDE, k) != 1) return -1;  // as PyTorch refuses it
        a->ints[k] = *same ? kg_conv_entry(c, DILATION, k) * (c->args[WEIGHT].tensor.shape[2 + k] - 1) / 2 : 0;
    }
    return 0;
}

int kg_conv2d_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[INPUT].tensor, *w = &c->args[WEIGHT].tensor;
    const int64_t groups = c->args[GROUPS].i;
    bool same;
    if ((x->ndim != 3 && x->ndim != 4) || w->ndim != 4 || x->dtype != w->dtype || groups < 1) return -1;
    const int channel = x->ndim - 3;
    if (x->shape[channel] != w->shape[1] * groups || w->shape[0] % groups || resolve_padding(c, &same)) return -1;
    int64_t shape[4] = {x->shape[0]};
    shape[channel] = w->shape[0];
    for (int k = 0; k < 2; k++) {
        const int64_t reach = kg_conv_entry(c, DILATION, k) * (w->shape[2 + k] - 1) + 1,
                      size = x->shape[channel + 1 + k];
        const int64_t padded = same ? size + reach - 1 : size + 2 * kg_conv_entry(c, PADDING, k);
        if (padded < reach) return -1;
        shape[channel + 1 + k] = (padded - reach) / kg_conv_entry(c, STRIDE, k) + 1;
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, x->ndim, shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x, w;
    int64_t channels, rows, cols;  // of a filter: C / groups, R, S
    int64_t height, width;
    int64_t stride[2], padding[2], dilation[2];
    int64_t x_step[4], w_step[4];
} conv;

// Outputs (n, o, p, q) .. (n, o, p, q + lanes - 1).
typedef struct {
    int64_t n, o, p, q, group;
    int lanes;
} place;

static conv read_conv(const kg_call *call) {
    const kg_case *c = call->c;
    conv v = {.x = kg_call_view(call, "input"), .w = kg_call_view(call, "weight")};
    const kg_tensor *x = &v.x.desc, *w = &v.w.desc;
    const int batch = x->ndim - 3;
    v.channels = w->shape[1], v.rows = w->shape[2], v.cols = w->shape[3];
    v.height = x->shape[batch + 1], v.width = x->shape[batch + 2];
    for (int k = 0; k < 2; k++) {
        v.stride[k] = kg_conv_entry(c, STRIDE, k), v.padding[k] = kg_conv_entry(c, PADDING, k),
        v.dilation[k] = kg_conv_entry(c, DILATION, k);
    }
    for (int k = 0; k < 4; k++) {
        v.w_step[k] = w->stride[k];
        v.x_step[k] = k == 0 && !batch ? 0 : x->stride[k - 1 + batch];
    }
    return v;
}

static place locate(const kg_call *call, const kg_ref *ref, size_t k) {
    const kg_tensor *out = &call->c->outs[0];
    const int batch = out->ndim - 3;
    const int64_t width = out->shape[batch + 2], height = out->shape[batch + 1], filters = out->shape[batch];
    int64_t rest = ref->index[k];
    place at = {.lanes = 1};
    at.q = rest % width, rest /= width;
    at.p = rest % height, rest /= height;
    at.o = rest % filters, at.n = rest / filters;
    at.group = at.o / (filters / call->c->args[GROUPS].i);
    while (at.lanes < KG_LANES && at.q + at.lanes < width && k + (size_t)at.lanes < ref->n &&
           ref->index[k + (size_t)at.lanes] == ref->index[k] + at.lanes)
        at.lanes++;
    return at;
}

// Term (channel, r, s) of the outputs at a place: the weight, and the input that meets it in each lane.
static double term(const conv *v, const place *at, int64_t channel, int64_t r, int64_t s, double *x) {
    const int64_t y = at->p * v->stride[0] - v->padding[0] + r * v->dilation[0];
    const int64_t left = at->q * v->stride[1] - v->padding[1] + s * v->dilation[1];
    const int64_t line = at->n * v->x_step[0] + (at->group * v->channels + channel) * v->x_step[1] + y * v->x_step[2];
    for (int i = 0; i < at->lanes; i++) {
        const int64_t z = left + i * v->stride[1];
        const bool inside = y >= 0 && y < v->height && z >= 0 && z < v->width;
        x[i] = inside ? kg_at_offset(&v->x, line + z * v->x_step[3]) : 0;
    }
    return kg_at_offset(&v->w, at->o * v->w_step[0] + channel * v->w_step[1] + r * v->w_step[2] + s * v->w_step[3]);
}

static kg_lanes convolve(const conv *v, const place *at) {
    double w[KG_TILE], x[KG_TILE][KG_LANES];
    memset(x, 0, sizeof x);
    kg_lanes l = kg_lanes_start(v->x.desc.dtype);
    int64_t n = 0;
    for (int64_t channel = 0; channel < v->channels; channel++)
        for (int64_t r = 0; r < v->rows; r++)
            for (int64_t s = 0; s < v->cols; s++) {
                w[n] = term(v, at, channel, r, s, x[n]);
                if (++n < KG_TILE) continue;
                kg_lanes_add(&l, w, (const double(*)[KG_LANES])x, n);
                n = 0;
            }
    kg_lanes_add(&l, w, (const double(*)[KG_LANES])x, n);
    return l;
}

int kg_conv2d_oracle(const kg_call *call, kg_ref *ref) {
    const conv v = read_conv(call);
    const kg_view bias = kg_call_view(call, "bias");
    for (size_t k = 0; k < ref->n;) {
        const place at = locate(call, ref, k);
        const kg_lanes l = convolve(&v, &at);
        const double added = bias.data ? kg_at(&bias, at.o) : 0;
        for (int i = 0; i < at.lanes; i++, k++) {
            const double product = kg_lanes_value(&l, i);
            ref->value[k] = product + added;
            ref->local[k] = kg_lanes_local(&l, i) + fabs(added);
            ref->acc[k] = kg_lanes_acc(&l, i) + fabs(product) + fabs(added);
        }
    }
    return 0;
}

static double terms(const kg_case *c) {
    const int64_t *w = c->args[WEIGHT].tensor.shape;
    return (double)(w[1] * w[2] * w[3]);
}

void kg_conv2d_work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    // Products with zeros outside the input count: the field's convention.
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * terms(c) * (double)kg_numel(&c->outs[0]);
}

double kg_conv2d_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * terms(c);
}

const char kg_conv2d_body[] =
    "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), filters = kg_dim(out, -3);\n"
    "const int64_t q = i % width, p = i / width % height, o = i / (width * height) % filters;\n"
    "const int64_t n = i / (width * height * filters), channels = kg_dim(weight, 1);\n"
    "const int64_t first = o / (filters / groups) * channels;  // input channel of this group\n"
    "double sum = bias ? kg_get(bias, o) : 0.0;\n"
    "for (int64_t c = 0; c < channels; c++)\n"
    "    for (int64_t r = 0; r < kg_dim(weight, 2); r++)\n"
    "        for (int64_t s = 0; s < kg_dim(weight, 3); s++) {\n"
    "            const int64_t y = p * stride->v[0] - padding->v[0] + r * dilation->v[0];\n"
    "            const int64_t z = q * stride->v[stride->n - 1] - padding->v[padding->n - 1] +\n"
    "                              s * dilation->v[dilation->n - 1];\n"
    "            if (y < 0 || y >= kg_dim(input, -2) || z < 0 || z >= kg_dim(input, -1)) continue;\n"
    "            const int64_t x = (input->ndim == 4 ? n * kg_stride(input, 0) : 0) +\n"
    "                              (first + c) * kg_stride(input, -3) + y * kg_stride(input, -2) +\n"
    "                              z * kg_stride(input, -1);\n"
    "            const int64_t w = o * kg_stride(weight, 0) + c * kg_stride(weight, 1) +\n"
    "                              r * kg_stride(weight, 2) + s * kg_stride(weight, 3);\n"
    "            sum += kg_get_at(input, x) * kg_get_at(weight, w);\n"
    "        }\n"
    "kg_put(out, i, sum);\n";

const kg_task kg_task_kbx_conv2d = {
    .name = "conv2d",
    .suite = "kbx",
    .category = "Convolution",
    .signature = "conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor",
    .summary =
        "2-d cross-correlation of images with filters; padding is ints, 'valid' or 'same' (C gets the zeros in front).",
    KG_OPERATION(conv2d),
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = kg_conv2d_cases,
    .reach = kg_conv2d_reach,
    .torch_baseline = "F.conv2d",
    .cpu_baseline = "onednn",
    .cuda_baseline = "cudnn",
};
