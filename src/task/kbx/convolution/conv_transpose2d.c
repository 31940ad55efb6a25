// conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Tensor
//
// input (N, C, H, W) or (C, H, W), weight (C, O / groups, R, S). Each input element adds itself times its channel's
// filters to the output from row y stride - padding on, at every dilation-th row and column: what conv2d's gradient
// does. out has (H - 1) stride - 2 padding + dilation (R - 1) + output_padding + 1 rows: output_padding only says how
// many rows there are at the end, and what lies there is no padding but what the filters reach, and the bias.
//
// Bounds: a product of the C / groups * R * S terms that meet in an output, of which about one in stride^2 exists
// (src/oracle/product.c).
#include <string.h>

#include "task/convolutions.h"

#define INTS(parameter, value) \
    { .name = parameter, .kind = KG_P_INTS, .optional = true, .keyword = true, .has_default = true, .number = value }
static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    INTS("stride", 1),
    INTS("padding", 0),
    INTS("output_padding", 0),
    {.name = "groups", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    INTS("dilation", 1),
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, OUTPUT_PADDING, GROUPS, DILATION };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *with_bias(kg_cases *b, kg_case *c, int64_t step) {
    const int64_t outs = c->args[WEIGHT].tensor.shape[1] * c->args[GROUPS].i;
    kg_set_strided(c, b->task, "bias", kg_tensor_stepped(c->args[WEIGHT].tensor.dtype, KG_SHAPE(outs), step),
                   KG_NORMAL(1, 4));
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
// As the public benchmark has it: twice the size.
static kg_case *doubled(kg_cases *b, kg_case *c) {
    return kg_conv_one(b, kg_conv_one(b, kg_conv_one(b, with_bias(b, c, 1), "stride", 2), "padding", 1),
                       "output_padding", 1);
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    doubled(b, kg_conv_add(b, F32(2, 3, 7, 9), F32(3, 5, 3, 3)));
    kg_conv_add(b, F32(2, 3, 7, 9), F32(3, 5, 3, 3));
    with_bias(b, kg_conv_add(b, F32(2, 3, 7, 9), F32(3, 5, 3, 3)), 1);
    kg_conv_add(b, F32(3, 7, 9), F32(3, 4, 3, 3));  // no batch
    kg_conv_add(b, F32(1, 1, 1, 1), F32(1, 1, 1, 1));
    kg_conv_add(b, F32(0, 3, 7, 9), F32(3, 4, 3, 3));
    kg_conv_one(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 3)), "stride", 2);
    kg_conv_two(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 5)), "stride", 2, 3);
    kg_conv_one(b, with_bias(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 2, 2)), 1), "stride",
                3);  // gaps: the bias alone
    kg_conv_one(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 3)), "padding", 1);
    kg_conv_two(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 5)), "padding", 1, 3);
    kg_conv_one(b, kg_conv_one(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 3)), "stride", 2), "output_padding", 1);
    kg_conv_two(b, kg_conv_two(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 2)), "stride", 2, 4), "output_padding",
                0, 3);
    kg_conv_one(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 3)), "dilation", 2);
    kg_conv_one(b, kg_conv_two(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 2)), "dilation", 2, 3), "stride", 2);
    kg_conv_grouped(b, kg_conv_add(b, F32(2, 6, 5, 6), F32(6, 2, 3, 3)), 2);
    with_bias(b, kg_conv_grouped(b, kg_conv_one(b, kg_conv_add(b, F32(2, 8, 5, 6), F32(8, 1, 3, 3)), "stride", 2), 8),
              1);  // depthwise
    // Options two by two.
    kg_conv_two(b, kg_conv_two(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 3)), "padding", 2, 1), "dilation", 3, 2);
    doubled(b, kg_conv_grouped(b, kg_conv_add(b, F32(2, 6, 5, 6), F32(6, 2, 3, 3)), 2));
    kg_case *c = kg_conv_grouped(b, kg_conv_add(b, F32(2, 6, 5, 6), F32(6, 2, 3, 2)), 2);
    with_bias(b, kg_conv_two(b, kg_conv_two(b, c, "padding", 2, 1), "dilation", 2, 3), 1);
    kg_conv_grouped(b, kg_conv_one(b, kg_conv_add(b, F32(2, 4, 5, 6), F32(4, 2, 3, 3)), "padding", 1), 4);
    doubled(b, kg_conv_add(b, F32(3, 7, 9), F32(3, 4, 3, 3)));
    kg_conv_add(b, F32(1, 2, 3, 4), F32(2, 3, 11, 2));
    kg_conv_add(b, F32(1, 2, 3, 4), F32(2, 3, 2, 11));
    kg_conv_add(b, F32(2, 65, 5, 4), F32(65, 33, 1, 1));
    kg_conv_add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 7, 9), 1, 3), F32(3, 5, 3, 3));
    kg_conv_add(b, F32(2, 3, 7, 9), kg_tensor_transposed(KG_F32, KG_SHAPE(3, 3, 3, 3), 0, 1));
    with_bias(b, kg_conv_add(b, F32(2, 3, 5, 4), F32(3, 7, 3, 3)), 3);
    // Past 4096 channels, filters and columns.
    kg_conv_add(b, F32(1, 4099, 3, 2), F32(4099, 2, 1, 1));
    kg_conv_add(b, F32(1, 2, 3, 2), F32(2, 4099, 1, 1));
    kg_conv_add(b, F32(1, 1, 3, 4101), F32(1, 1, 3, 3));
    for (int i = INPUT; i <= BIAS; i++)
        with_bias(b, kg_conv_add(b, OF(KG_F64, 1, 3, 5, 4), OF(KG_F64, 3, 4, 3, 3)), 1)->args[i].fill =
            KG_WIDE_INTEGERS;
    for (int i = INPUT; i <= BIAS; i++)
        with_bias(b, kg_conv_add(b, F32(1, 3, 5, 4), F32(3, 4, 3, 3)), 1)->args[i].fill =
            (kg_fill){KG_FILL_CONST, NAN, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        doubled(b, kg_conv_add(b, OF(others[i], 2, 16, 5, 6), OF(others[i], 16, 8, 3, 3)));
    // One product an output: no sum overflows, and what is not there is not multiplied by infinity.
    c = kg_conv_one(b, with_bias(b, kg_conv_add(b, F32(2, 1, 9, 17), F32(1, 5, 2, 2)), 1), "stride", 2);
    c->args[INPUT].fill = KG_SPECIALS(0, 1);
    c->args[WEIGHT].fill = KG_INTEGERS(-1, 1);
}

static void full(kg_cases *b) {
    doubled(b, kg_conv_add(b, F32(2, 16, 16, 16), F32(16, 32, 3, 3)));
    kg_conv_one(b, kg_conv_one(b, kg_conv_add(b, F32(2, 8, 11, 12), F32(8, 8, 4, 4)), "stride", 2), "padding", 1);
    kg_conv_one(b, kg_conv_add(b, F32(2, 8, 9, 10), F32(8, 8, 7, 7)), "padding", 3);
    kg_conv_two(b,
                kg_conv_two(b, kg_conv_two(b, kg_conv_add(b, F32(1, 4, 8, 9), F32(4, 6, 3, 3)), "padding", 2, 0),
                            "dilation", 3, 2),
                "stride", 1, 3);
    kg_conv_add(b, F32(1, 256, 6, 6), F32(256, 16, 3, 3));
    doubled(b, kg_conv_add(b, F32(2, 3, 7, 9), F32(3, 5, 3, 3)))->args[INPUT].fill = KG_OUTLIERS(0, 1);
    kg_conv_grouped(b, kg_conv_add(b, OF(KG_F16, 2, 12, 5, 6), OF(KG_F16, 12, 2, 3, 3)), 12);
    kg_conv_add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(3, 4, 5, 6), 0), F32(4, 5, 3, 3));
    kg_conv_two(b, kg_conv_one(b, kg_conv_add(b, F32(2, 4, 6, 5), F32(4, 6, 3, 3)), "dilation", 3), "output_padding", 2,
                1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 8; n <= (b->level == KG_TIMED_CUDA ? 256 : 64); n *= 2)
        doubled(b, kg_conv_add(b, F32(2, n, 16, 16), F32(n, 2 * n, 3, 3)));
    return 0;
}
#undef F32
#undef OF

// ---- shapes ---------------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[INPUT].tensor, *w = &c->args[WEIGHT].tensor;
    const int64_t groups = c->args[GROUPS].i;
    if ((x->ndim != 3 && x->ndim != 4) || w->ndim != 4 || x->dtype != w->dtype || groups < 1) return -1;
    const int channel = x->ndim - 3;
    if (x->shape[channel] != w->shape[0] || w->shape[0] % groups) return -1;
    if (!kg_is_bias(&c->args[BIAS], w->shape[1] * groups)) return -1;
    int64_t shape[4] = {x->shape[0]};
    shape[channel] = w->shape[1] * groups;
    for (int k = 0; k < 2; k++) {
        const int64_t stride = kg_conv_entry(c, STRIDE, k), dilation = kg_conv_entry(c, DILATION, k);
        const int64_t more = kg_conv_entry(c, OUTPUT_PADDING, k);
        if (more >= stride && more >= dilation) return -1;  // as PyTorch refuses it
        shape[channel + 1 + k] = (x->shape[channel + 1 + k] - 1) * stride - 2 * kg_conv_entry(c, PADDING, k) +
                                 dilation * (w->shape[2 + k] - 1) + more + 1;
        if (shape[channel + 1 + k] < 1) return -1;
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, x->ndim, shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x, w;
    int64_t channels, filters;  // of a group: C / groups, O / groups
    int64_t size[2], taps[2];   // H, W; R, S
    int64_t stride[2], padding[2], dilation[2];
    int64_t x_step[4];
} deconv;

// Outputs (n, o, y, z), (n, o, y, z + stride), ...: the same filter entries meet all of them.
typedef struct {
    int64_t n, o, y, z;
    int lanes;
} place;

static deconv read_deconv(const kg_call *call) {
    const kg_case *c = call->c;
    deconv v = {.x = kg_call_view(call, "input"), .w = kg_call_view(call, "weight")};
    const kg_tensor *x = &v.x.desc, *w = &v.w.desc;
    const int batch = x->ndim - 3;
    v.channels = w->shape[0] / c->args[GROUPS].i, v.filters = w->shape[1];
    for (int k = 0; k < 2; k++) {
        v.size[k] = x->shape[batch + 1 + k], v.taps[k] = w->shape[2 + k];
        v.stride[k] = kg_conv_entry(c, STRIDE, k), v.padding[k] = kg_conv_entry(c, PADDING, k);
        v.dilation[k] = kg_conv_entry(c, DILATION, k);
    }
    for (int k = 0; k < 4; k++) v.x_step[k] = k == 0 && !batch ? 0 : x->stride[k - 1 + batch];
    return v;
}

// The input row (or column) that filter entry `tap` brings to output `at`, inside the input or not; INT64_MIN: none,
// between two steps of the stride.
static int64_t source(const deconv *v, int k, int64_t at, int64_t tap) {
    const int64_t reached = at + v->padding[k] - tap * v->dilation[k];
    return reached % v->stride[k] ? INT64_MIN : reached / v->stride[k];
}

static kg_lanes meet(const deconv *v, const place *at) {
    double w[KG_TILE], x[KG_TILE][KG_LANES];
    const int64_t group = at->o / v->filters, *step = v->w.desc.stride;
    kg_lanes l = kg_lanes_start(v->x.desc.dtype);
    int64_t n = 0;
    memset(x, 0, sizeof x);
    for (int64_t c = group * v->channels; c < (group + 1) * v->channels; c++)
        for (int64_t r = 0; r < v->taps[0]; r++)
            for (int64_t s = 0; s < v->taps[1]; s++) {
                const int64_t row = source(v, 0, at->y, r), first = source(v, 1, at->z, s);
                if (row < 0 || row >= v->size[0] || first == INT64_MIN) continue;
                const int64_t line = at->n * v->x_step[0] + c * v->x_step[1] + row * v->x_step[2];
                for (int i = 0; i < at->lanes; i++) {
                    const bool inside = first + i >= 0 && first + i < v->size[1];
                    x[n][i] = inside ? kg_at_offset(&v->x, line + (first + i) * v->x_step[3]) : 0;
                }
                w[n] = kg_at_offset(&v->w, c * step[0] + at->o % v->filters * step[1] + r * step[2] + s * step[3]);
                if (++n < KG_TILE) continue;
                kg_lanes_add(&l, w, (const double(*)[KG_LANES])x, n);
                n = 0;
            }
    kg_lanes_add(&l, w, (const double(*)[KG_LANES])x, n);
    return l;
}

// Outputs k, k + 1, ... of ref that lie in one row one after the other, as far as `most`.
static size_t run_of(const kg_ref *ref, size_t k, int64_t width, size_t most) {
    size_t n = 1;
    while (n < most && k + n < ref->n && ref->index[k + n] == ref->index[k] + (int64_t)n &&
           ref->index[k + n] % width != 0)
        n++;
    return n;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const deconv v = read_deconv(call);
    const kg_view bias = kg_call_view(call, "bias");
    const kg_tensor *out = &call->c->outs[0];
    const int64_t width = out->shape[out->ndim - 1], height = out->shape[out->ndim - 2],
                  outs = out->shape[out->ndim - 3];
    const size_t stride = (size_t)v.stride[1];
    for (size_t k = 0; k < ref->n;) {
        const int64_t plane = ref->index[k] / width / height;
        place at = {.n = plane / outs, .o = plane % outs, .y = ref->index[k] / width % height};
        const size_t run = run_of(ref, k, width, stride * KG_LANES);
        const double added = bias.data ? kg_at(&bias, at.o) : 0;
        for (size_t phase = 0; phase < stride && phase < run; phase++) {
            at.z = (ref->index[k] + (int64_t)phase) % width;
            at.lanes = (int)((run - phase + stride - 1) / stride);
            const kg_lanes l = meet(&v, &at);
            for (int i = 0; i < at.lanes; i++) {
                const size_t to = k + phase + (size_t)i * stride;
                const double product = kg_lanes_value(&l, i);
                ref->value[to] = product + added;
                ref->local[to] = kg_lanes_local(&l, i) + fabs(added);
                ref->acc[to] = kg_lanes_acc(&l, i) + fabs(product) + kg_start_acc(added, l.n);
            }
        }
        k += run;
    }
    return 0;
}

// Terms that exist, for an output in the middle.
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const int64_t *w = c->args[WEIGHT].tensor.shape;
    const double strides = (double)(kg_conv_entry(c, STRIDE, 0) * kg_conv_entry(c, STRIDE, 1));
    const int64_t terms = w[0] / c->args[GROUPS].i * w[2] * w[3];
    return fmax(1, 2 * (double)terms / strides);
}

// Each input element times each filter entry of its group: the field's convention, also where that falls outside.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const int64_t *f = c->args[WEIGHT].tensor.shape;
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] =
        2 * (double)(f[1] * f[2] * f[3]) * (double)kg_numel(&c->args[INPUT].tensor);
}

const kg_task kg_task_kbx_conv_transpose2d = {
    .name = "conv_transpose2d",
    .suite = "kbx",
    .category = "Convolution",
    .signature =
        "conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) "
        "-> Tensor",
    .summary = "Transposed 2-d convolution: every input element adds its channel's filters, scaled, to the output.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.conv_transpose2d",
    .c_body =
        "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), outs = kg_dim(out, -3);\n"
        "const int64_t z = i % width, y = i / width % height, o = i / (width * height) % outs;\n"
        "const int64_t n = i / (width * height * outs), filters = kg_dim(weight, 1);\n"
        "const int64_t channels = kg_dim(weight, 0) / groups, first = o / filters * channels;\n"
        "const int64_t step_y = stride->v[0], step_z = stride->v[stride->n - 1];\n"
        "double sum = bias ? kg_get(bias, o) : 0.0;\n"
        "(void)output_padding;  // it is in out's shape\n"
        "for (int64_t c = first; c < first + channels; c++)\n"
        "    for (int64_t r = 0; r < kg_dim(weight, 2); r++)\n"
        "        for (int64_t s = 0; s < kg_dim(weight, 3); s++) {\n"
        "            const int64_t py = y + padding->v[0] - r * dilation->v[0];\n"
        "            const int64_t pz = z + padding->v[padding->n - 1] - s * dilation->v[dilation->n - 1];\n"
        "            if (py < 0 || pz < 0 || py % step_y || pz % step_z) continue;\n"
        "            if (py / step_y >= kg_dim(input, -2) || pz / step_z >= kg_dim(input, -1)) continue;\n"
        "            const int64_t x = (input->ndim == 4 ? n * kg_stride(input, 0) : 0) + c * kg_stride(input, -3) +\n"
        "                              py / step_y * kg_stride(input, -2) + pz / step_z * kg_stride(input, -1);\n"
        "            const int64_t w = c * kg_stride(weight, 0) + o % filters * kg_stride(weight, 1) +\n"
        "                              r * kg_stride(weight, 2) + s * kg_stride(weight, 3);\n"
        "            sum += kg_get_at(input, x) * kg_get_at(weight, w);\n"
        "        }\n"
        "kg_put(out, i, sum);\n",
};
