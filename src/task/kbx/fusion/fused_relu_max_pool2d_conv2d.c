// fused_relu_max_pool2d_conv2d(input, weight, bias=None, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1,
//     pool_kernel_size=2, pool_stride=None, pool_padding=0, pool_dilation=1, pool_ceil_mode=False, inplace=False) ->
//     Tensor
//
// relu(max_pool2d(conv2d(input, ...), ...)); NaN stays NaN in both. pool_stride None is pool_kernel_size. What lies
// outside is below every value. pool_ceil_mode counts a last window that is partly outside, if it starts inside or in
// the padding in front. inplace overwrites an intermediate result. pool_padding is at most half of pool_kernel_size.
//
// Bounds: the convolution's (src/oracle/product.c): a maximum errs by no more than the elements that it may be. In half
// precision an unfused kernel stores the convolution once more.
#include <stdlib.h>
#include <string.h>

#include "oracle/windows.h"
#include "task/convolutions.h"

static const kg_param params[] = {
    KG_CONV_INPUTS,
    KG_CONV_GEOMETRY("conv_"),
    KG_CONV_OPTION(KG_P_INTS, "pool_kernel_size", 2),
    {.name = "pool_stride", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    KG_CONV_OPTION(KG_P_INTS, "pool_padding", 0),
    KG_CONV_OPTION(KG_P_INTS, "pool_dilation", 1),
    {.name = "pool_ceil_mode", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, GROUPS, SIZE, POOL_STRIDE, POOL_PADDING, POOL_DILATION, CEIL };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *with(kg_cases *b, kg_case *c, int param, int n, int64_t rows, int64_t columns) {
    kg_set_ints(c, b->task, b->task->params[param].name, n, (int64_t[]){rows, columns});
    c->args[param].scalar = n == 1;
    return c;
}

// One element alone is a window of its own. 'same' with an odd number of zeros: see convolutions.h.
static bool complete(kg_cases *b, kg_case *c) {
    kg_tensor out;
    const kg_arg *padding = &c->args[PADDING], *dilation = &c->args[DILATION];
    for (int k = 0; k < 2 && padding->s && !strcmp(padding->s, "same"); k++)
        if (dilation->ints[k < dilation->n ? k : 0] * (c->args[WEIGHT].tensor.shape[2 + k] - 1) % 2) return false;
    if (kg_conv_resolve(b->task, c, &out)) return false;
    if (out.shape[out.ndim - 1] < 2) with(b, c, SIZE, 1, 1, 0);
    return true;
}

static kg_case *plain(kg_cases *b, kg_dtype t) {
    return kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 12, 13)),
                                         kg_tensor_contiguous(t, KG_SHAPE(4, 3, 3, 3))));
}
static kg_case *pointwise(kg_cases *b, kg_dtype t) {
    return kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 12, 13)),
                                         kg_tensor_contiguous(t, KG_SHAPE(4, 3, 1, 1))));
}
static kg_case *rounded_up(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "pool_ceil_mode", true);
    return c;
}
// Biases so low that most of relu's results would be zero, were the largest not taken first.
static kg_case *low(kg_case *c) {
    c->args[BIAS].fill = KG_NORMAL(-3, 1);
    return c;
}

static void pools(kg_cases *b) {
    const kg_dtype t = KG_F32;
    with(b, plain(b, t), SIZE, 1, 3, 0);
    with(b, low(plain(b, t)), SIZE, 2, 2, 3);
    with(b, plain(b, t), SIZE, 2, 2, 11);
    with(b, plain(b, t), SIZE, 2, 10, 1);
    with(b, plain(b, t), POOL_STRIDE, 1, 1, 0);
    with(b, pointwise(b, t), POOL_STRIDE, 1, 1, 0);
    with(b, with(b, pointwise(b, t), SIZE, 2, 3, 2), POOL_STRIDE, 2, 1, 3);
    with(b, low(pointwise(b, t)), POOL_PADDING, 1, 1, 0);
    with(b, pointwise(b, t), POOL_DILATION, 1, 2, 0);
    rounded_up(b, pointwise(b, t));
    with(b, with(b, plain(b, t), SIZE, 1, 3, 0), POOL_STRIDE, 2, 2, 1);
    with(b, low(plain(b, t)), POOL_PADDING, 1, 1, 0);
    with(b, with(b, plain(b, t), SIZE, 2, 3, 2), POOL_PADDING, 2, 1, 0);
    with(b, plain(b, t), POOL_DILATION, 1, 2, 0);
    with(b, with(b, with(b, plain(b, t), SIZE, 1, 3, 0), POOL_DILATION, 2, 1, 2), POOL_PADDING, 1, 1, 0);
    rounded_up(b, with(b, plain(b, t), SIZE, 1, 3, 0));
    rounded_up(b, with(b, with(b, plain(b, t), SIZE, 1, 3, 0), POOL_PADDING, 1, 1, 0));
    rounded_up(b, with(b, with(b, plain(b, t), SIZE, 2, 3, 2), POOL_STRIDE, 2, 4, 3));
    kg_set_bool(plain(b, t), b->task, "inplace", true);
    for (size_t i = 0; i < 3; i++)
        with(b, with(b, plain(b, (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i]), SIZE, 1, 3, 0), POOL_STRIDE, 1, 2, 0);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){.complete = complete});
        pools(b);
        return 0;
    }
    const int64_t last = b->level == KG_TIMED_CUDA ? 4096 : 128;
    for (int64_t side = b->level == KG_TIMED_CUDA ? 32 : 16; side <= last; side *= 2)
        kg_conv_biased(b, kg_conv_image(b, 1, 3, side + 2, side + 2, 64, 3));
    return 0;
}

// ---- shapes ---------------------------------------------------------------------------------------
static int64_t entry(const kg_case *c, int param, int k) {
    const kg_arg *a = &c->args[param];
    return a->ints[k < a->n ? k : 0];
}

static kg_window window_of(const kg_case *c, int k) {
    const bool own = !c->args[POOL_STRIDE].none && c->args[POOL_STRIDE].n > 0;
    return (kg_window){.size = entry(c, SIZE, k),
                       .stride = entry(c, own ? POOL_STRIDE : SIZE, k),
                       .padding = entry(c, POOL_PADDING, k),
                       .dilation = entry(c, POOL_DILATION, k),
                       .ceil = c->args[CEIL].i};
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_conv_infer(t, c)) return -1;
    kg_tensor *out = &c->outs[0];
    for (int k = 0; k < 2; k++) {
        const kg_window w = window_of(c, k);
        int64_t *size = &out->shape[out->ndim - 2 + k];
        *size = kg_window_count(&w, *size);
        if (*size < 1 || 2 * w.padding > w.size) return -1;
    }
    *out = kg_tensor_contiguous(out->dtype, out->ndim, out->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_conv conv;
    kg_rung rung;
    kg_window window[2];
    kg_term *space;
} layer;

static int largest(layer *l, const kg_tensor *out, int64_t index, kg_term *most) {
    const int64_t *shape = out->shape + out->ndim - 2, *image = l->conv.out.shape + out->ndim - 2;
    const int64_t q = index % shape[1], p = index / shape[1] % shape[0], plane = index / (shape[0] * shape[1]);
    const kg_span rows = kg_window_span(&l->window[0], image[0], p);
    const kg_span columns = kg_window_span(&l->window[1], image[1], q);
    const kg_stage s = {rows.n * columns.n, l->space};
    for (int64_t i = 0; i < rows.n; i++) {
        kg_stage line = {columns.n, l->space + i * columns.n};
        const int64_t y = plane * image[0] + rows.from + i * rows.step;
        if (kg_stage_from(&line, y * image[1] + columns.from, columns.step, kg_conv_part, &l->conv)) return -1;
        kg_stage_stored(&l->rung, &line);
    }
    *most = kg_stage_max(&l->rung, &s);
    return 0;
}

static kg_point relu_at(double x, const void *ctx) {
    (void)ctx;
    return kg_relu_point(x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    layer l = {.conv = kg_conv_of(call), .rung = kg_conv_rung(call)};
    for (int k = 0; k < 2; k++) l.window[k] = window_of(call->c, k);
    l.space = malloc((size_t)(l.window[0].size * l.window[1].size) * sizeof *l.space);
    int rc = l.space ? 0 : -1;
    for (size_t k = 0; k < ref->n && !rc; k++) {
        kg_term most;
        rc = largest(&l, &call->c->outs[0], ref->index[k], &most);
        if (!rc) kg_term_put(ref, k, kg_term_map(&l.rung, most, relu_at, NULL));
    }
    free(l.space);
    return rc;
}

static double reach(const kg_task *t, const kg_case *c) {
    return kg_conv_reach(t, c) * (double)(entry(c, SIZE, 0) * entry(c, SIZE, 1));
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 1, 0); }

const kg_task kg_task_kbx_fused_relu_max_pool2d_conv2d = {
    .name = "fused_relu_max_pool2d_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_relu_max_pool2d_conv2d(input, weight, bias=None, conv_stride=1, conv_padding=0, conv_dilation=1, "
        "conv_groups=1, pool_kernel_size=2, pool_stride=None, pool_padding=0, pool_dilation=1, pool_ceil_mode=False, "
        "inplace=False) -> Tensor",
    .summary = "ReLU of the largest value of each window of a 2-d convolution.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1, "
        "pool_kernel_size=2, pool_stride=None, pool_padding=0, pool_dilation=1, pool_ceil_mode=False, inplace=False: "
        "F.relu(F.max_pool2d(F.conv2d(input, weight, bias, conv_stride, conv_padding, conv_dilation, conv_groups), "
        "pool_kernel_size, pool_stride, pool_padding, pool_dilation, pool_ceil_mode), inplace)",
    .c_body =
        "// Output i is plane t, window (u, v) of the convolution, which is rows by columns large.\n"
        "const kg_ints *const step = pool_stride ? pool_stride : pool_kernel_size;\n"
        "const int64_t v = i % kg_dim(out, -1), u = i / kg_dim(out, -1) % kg_dim(out, -2);\n"
        "const int64_t t = i / (kg_dim(out, -1) * kg_dim(out, -2));\n"
        "const int64_t o = t % kg_dim(weight, 0), n = t / kg_dim(weight, 0);\n"
        "const int64_t rows = (kg_dim(input, -2) + 2 * conv_padding->v[0] -\n"
        "                      conv_dilation->v[0] * (kg_dim(weight, 2) - 1) - 1) / conv_stride->v[0] + 1;\n"
        "const int64_t columns = (kg_dim(input, -1) + 2 * conv_padding->v[conv_padding->n - 1] -\n"
        "                         conv_dilation->v[conv_dilation->n - 1] * (kg_dim(weight, 3) - 1) - 1) /\n"
        "                            conv_stride->v[conv_stride->n - 1] + 1;\n"
        "double most = -INFINITY;\n"
        "for (int64_t k = 0; k < pool_kernel_size->v[0]; k++)\n"
        "    for (int64_t l = 0; l < pool_kernel_size->v[pool_kernel_size->n - 1]; l++) {\n"
        "        const int64_t p = u * step->v[0] - pool_padding->v[0] + k * pool_dilation->v[0];\n"
        "        const int64_t q = v * step->v[step->n - 1] - pool_padding->v[pool_padding->n - 1] +\n"
        "                          l * pool_dilation->v[pool_dilation->n - 1];\n"
        "        if (p < 0 || p >= rows || q < 0 || q >= columns) continue;\n"
        KG_CONV_SUM("conv_")
        "if (!(sum <= most) && most == most) most = sum;\n"
        "    }\n"
        "kg_put(out, i, most > 0 || most != most ? most : 0.0);\n",
};
