// fused_silu_layer_norm_conv2d(x, weight, conv_weight, conv_bias=None, conv_stride=1, conv_padding=0, conv_dilation=1,
//     conv_groups=1, ln_eps=1e-5) -> Tensor
//
// silu(layer_norm(conv2d(x, conv_weight, conv_bias, ...)) * weight). The signature leaves open what is normalised: it
// is each image of the result over all of its channels, rows and columns, as the public benchmark's reference has it;
// weight (out_channels,), as the example gives it, then scales the channels (that reference is only called with None,
// which scales nothing). x is (N, C, H, W); stride, padding and dilation are one int each.
//
// Bounds: the convolution's (src/oracle/product.c), through the normalisation and SiLU (src/oracle/stages.c), which are
// computed in float32 whatever the convolution's inputs were rounded to. In half precision unfused kernels store each.
#include <stdlib.h>

#include "task/convolutions.h"

static const kg_param params[] = {
    {.name = "x", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR, .nullable = true},
    {.name = "conv_weight", .kind = KG_P_TENSOR},
    {.name = "conv_bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    KG_CONV_OPTION(KG_P_INT, "conv_stride", 1),
    KG_CONV_OPTION(KG_P_INT, "conv_padding", 0),
    KG_CONV_OPTION(KG_P_INT, "conv_dilation", 1),
    KG_CONV_OPTION(KG_P_INT, "conv_groups", 1),
    KG_CONV_OPTION(KG_P_FLOAT, "ln_eps", 1e-5),
    {.name = NULL}};
enum { X, WEIGHT, CONV_WEIGHT, CONV_BIAS };

// ---- cases ----------------------------------------------------------------------------------------
static bool complete(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[CONV_WEIGHT].tensor;
    kg_set_tensor(c, b->task, "weight", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(1, 1));
    return true;
}

static kg_case *plain(kg_cases *b, kg_dtype t) {
    kg_case *c = kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 8, 7)),
                                               kg_tensor_contiguous(t, KG_SHAPE(5, 3, 3, 3))));
    complete(b, c);
    return c;
}

static void normalisations(kg_cases *b) {
    kg_set_float(plain(b, KG_F32), b->task, "ln_eps", 20);
    kg_set_float(plain(b, KG_F64), b->task, "ln_eps", 1e-3);
    kg_set_none(plain(b, KG_F32), b->task, "weight");
    kg_set_none(plain(b, KG_F64), b->task, "weight");
    // Four values an image: the unbiased variance is a third larger.
    complete(b, kg_conv_image(b, 3, 3, 4, 4, 1, 3));
    complete(b, kg_conv_one(b, kg_conv_one(b, kg_conv_image(b, 2, 3, 9, 9, 4, 3), "padding", 2), "stride", 3));
    plain(b, KG_F32)->args[CONV_BIAS].fill = (kg_fill){KG_FILL_CONST, 100, 0};  // a mean of many deviations
    plain(b, KG_F32)->args[CONV_BIAS].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_case *c = kg_conv_image(b, 2, 3, 8, 7, 5, 3);
    complete(b, c);
    c->args[X].fill = KG_NORMAL(0, 1e-3);  // eps counts as much as the variance
    plain(b, KG_F32)->args[X].fill = (kg_fill){KG_FILL_CONST, 0, 0};
    kg_set_strided(plain(b, KG_F32), b->task, "weight", kg_tensor_stepped(KG_F32, KG_SHAPE(5), 2), KG_NORMAL(1, 1));
    complete(b, kg_conv_image(b, 1, 1, 41, 42, 3, 3));  // more than 4096 values an image
    plain(b, KG_F16);
    plain(b, KG_BF16);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){.complete = complete,
                                           .batched = true,
                                           .ints = true,
                                           .no_text = true,
                                           .no_specials = true,
                                           .light = true});
        normalisations(b);
        kg_nan_cases(b);
        return 0;
    }
    // Of the published sizes, the last is left out: one image of it is 1.9e10 products.
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t k = 1; k <= 8; k *= 2)
        complete(b, kg_conv_biased(b, cuda ? kg_conv_image(b, k, 8 * k, 32 * k, 32 * k, 64, 3)
                                           : kg_conv_image(b, 1, 8, 8 * k, 8 * k, 16, 3)));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) { return kg_conv_infer(t, c) || c->outs[0].ndim != 4 ? -1 : 0; }

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_conv conv;
    kg_rung rung;
    double eps;
    double *weight;  // one an element of an image; NULL for none
} layer;

static kg_point silu_at(double x, const void *ctx) {
    (void)ctx;
    return kg_silu_point(x);
}

static int image(int64_t block, kg_stage *s, void *ctx) {
    layer *l = ctx;
    if (kg_stage_from(s, block * s->n, 1, kg_conv_part, &l->conv)) return -1;
    kg_stage_stored(&l->rung, s);
    kg_stage_layer_norm(&l->rung, s, l->eps, l->weight, NULL);
    kg_stage_stored(&l->rung, s);
    kg_stage_map(&l->rung, s, silu_at, NULL);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    layer l = {kg_conv_of(call), kg_conv_rung(call), kg_call_arg(call, "ln_eps")->f, NULL};
    const kg_view weight = kg_call_view(call, "weight");
    const int64_t plane = l.conv.out.shape[2] * l.conv.out.shape[3], size = l.conv.out.shape[1] * plane;
    if (weight.data) {
        l.weight = malloc((size_t)size * sizeof *l.weight + 1);
        if (!l.weight) return -1;
        for (int64_t k = 0; k < size; k++) l.weight[k] = kg_at(&weight, k / plane);
    }
    const int rc = kg_stage_each(ref, size, 1, image, &l);
    free(l.weight);
    return rc;
}

static double reach(const kg_task *t, const kg_case *c) {
    const int64_t *shape = c->outs[0].shape;
    return kg_conv_reach(t, c) * (double)(shape[1] * shape[2] * shape[3]);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 8, 1); }

const kg_task kg_task_kbx_fused_silu_layer_norm_conv2d = {
    .name = "fused_silu_layer_norm_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_silu_layer_norm_conv2d(x: torch.Tensor, weight: torch.Tensor, conv_weight: torch.Tensor, conv_bias: "
        "torch.Tensor = None, conv_stride: int = 1, conv_padding: int = 0, conv_dilation: int = 1, conv_groups: int = "
        "1, ln_eps: float = 1e-5) -> torch.Tensor",
    .summary =
        "SiLU of a 2-d convolution, each image of it normalised over channels, rows and columns and scaled by weight "
        "(out_channels,), which may be None.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x, weight, conv_weight, conv_bias=None, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1, "
        "ln_eps=1e-5: (lambda y: F.silu(F.layer_norm(y, y.shape[1:], None if weight is None else "
        "weight.view(-1, 1, 1).expand(y.shape[1:]).contiguous(), None, ln_eps)))"
        "(F.conv2d(x, conv_weight, conv_bias, conv_stride, conv_padding, conv_dilation, conv_groups))",
    .c_items = "kg_dim(x, 0)",
    .c_body =
        "// Item i is an image: its convolution goes to out, and is normalised there.\n"
        "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), n = i;\n"
        "const int64_t plane = height * width, size = kg_dim(out, 1) * plane;\n"
        "double mean = 0, var = 0;\n"
        "for (int64_t k = 0; k < size; k++) {\n"
        "const int64_t q = k % width, p = k / width % height, o = k / plane;\n"
        KG_CONV_SUM_AT("x", "conv_weight", "conv_bias", "conv_groups", "conv_stride", "conv_stride", "conv_padding",
                       "conv_padding", "conv_dilation", "conv_dilation")
        "kg_put(out, n * size + k, sum);\n"
        "mean += kg_get(out, n * size + k);\n"
        "}\n"
        "mean /= (double)size;\n"
        "for (int64_t k = 0; k < size; k++) {\n"
        "    const double d = kg_get(out, n * size + k) - mean;\n"
        "    var += d * d;\n"
        "}\n"
        "const double scale = 1.0 / sqrt(var / (double)size + ln_eps);\n"
        "for (int64_t k = 0; k < size; k++) {\n"
        "    const double by = weight ? scale * kg_get(weight, k / plane) : scale;\n"
        "    const double y = (kg_get(out, n * size + k) - mean) * by;\n"
        "    kg_put(out, n * size + k, y / (1.0 + exp(-y)));\n"
        "}\n",
};
