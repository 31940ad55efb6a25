// fused_instance_norm_selu_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1,
// num_features=None,
//     eps=1e-5, momentum=0.1, affine=False, track_running_stats=False) -> Tensor
//
// instance_norm(selu(conv2d(input, ...))): each plane of each image by its own mean and biased variance, as
// torch.nn.InstanceNorm2d(num_features, eps, momentum, affine, track_running_stats) makes it when it is new. So
// affine's fresh weight of ones and bias of zeros, and running statistics that nobody keeps, change nothing: neither do
// momentum and num_features, which is None or the number of filters. input is (N, C, H, W), and a plane has two values
// or more.
//
// Bounds: the convolution's (src/oracle/product.c), through SELU and the normalisation (src/oracle/stages.c), which are
// computed in float32 whatever the convolution's inputs were rounded to. In half precision unfused kernels store each.
#include "task/convolutions.h"

static const kg_param params[] = {
    KG_CONV_INPUTS,
    KG_CONV_GEOMETRY(""),
    {.name = "num_features", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    KG_CONV_OPTION(KG_P_FLOAT, "eps", 1e-5),
    KG_CONV_OPTION(KG_P_FLOAT, "momentum", 0.1),
    {.name = "affine", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "track_running_stats", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS };

// ---- cases ----------------------------------------------------------------------------------------
static bool complete(kg_cases *b, kg_case *c) {
    kg_tensor out;
    return !kg_conv_resolve(b->task, c, &out) && out.shape[2] * out.shape[3] > 1;
}

static kg_case *plain(kg_cases *b, kg_dtype t) {
    return kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 8, 7)),
                                         kg_tensor_contiguous(t, KG_SHAPE(5, 3, 3, 3))));
}

static void normalisations(kg_cases *b) {
    kg_set_float(plain(b, KG_F32), b->task, "eps", 20);
    kg_set_float(plain(b, KG_F64), b->task, "eps", 1e-3);
    kg_set_int(plain(b, KG_F32), b->task, "num_features", 5);
    kg_set_float(plain(b, KG_F32), b->task, "momentum", 0.75);
    kg_set_bool(plain(b, KG_F32), b->task, "affine", true);
    kg_set_bool(plain(b, KG_F32), b->task, "track_running_stats", true);
    kg_conv_image(b, 3, 3, 4, 4, 6, 3);  // four values a plane: the unbiased variance is a third larger
    plain(b, KG_F32)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, 100, 0};  // a mean of many deviations
    plain(b, KG_F32)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, -6, 0};   // where selu is nearly flat
    plain(b, KG_F32)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_conv_image(b, 2, 3, 8, 7, 5, 3)->args[INPUT].fill = KG_NORMAL(0, 1e-3);  // eps counts as much as the variance
    plain(b, KG_F16);
    plain(b, KG_BF16);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b,
                      &(kg_conv_family){.complete = complete, .batched = true, .no_text = true, .no_specials = true});
        normalisations(b);
        kg_nan_cases(b);
        return 0;
    }
    // Of the published sizes, the two last are left out: inputs of 2 and 34 GB.
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t k = 1; k <= 8; k *= 2)
        kg_conv_biased(
            b, cuda ? kg_conv_image(b, k, 8 * k, 32 * k, 32 * k, 64, 3) : kg_conv_image(b, 1, 8, 8 * k, 8 * k, 16, 3));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_conv_infer(t, c) || c->outs[0].ndim != 4) return -1;
    return c->outs[0].shape[2] * c->outs[0].shape[3] < 2 ? -1 : 0;  // as PyTorch refuses it
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_conv conv;
    kg_rung rung;
    double eps;
} layer;

static kg_point selu_at(double x, const void *ctx) {
    (void)ctx;
    return kg_selu_point(x);
}

static int plane(int64_t block, kg_stage *s, void *ctx) {
    layer *l = ctx;
    if (kg_stage_from(s, block * s->n, 1, kg_conv_part, &l->conv)) return -1;
    kg_stage_stored(&l->rung, s);
    kg_stage_map(&l->rung, s, selu_at, NULL);
    kg_stage_stored(&l->rung, s);
    kg_stage_batch_norm(&l->rung, s, l->eps);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    layer l = {kg_conv_of(call), kg_conv_rung(call), kg_call_arg(call, "eps")->f};
    return kg_stage_each(ref, l.conv.out.shape[2] * l.conv.out.shape[3], 1, plane, &l);
}

static double reach(const kg_task *t, const kg_case *c) {
    return kg_conv_reach(t, c) * (double)(c->outs[0].shape[2] * c->outs[0].shape[3]);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 8, 1); }

const kg_task kg_task_kbx_fused_instance_norm_selu_conv2d = {
    .name = "fused_instance_norm_selu_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_instance_norm_selu_conv2d(input: Tensor, weight: Tensor, bias=None, stride=1, padding=0, dilation=1, "
        "groups=1, num_features=None, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False) -> Tensor",
    .summary = "Instance norm of SELU of a 2-d convolution: each plane by its own mean and variance.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, num_features=None, eps=1e-5, "
        "momentum=0.1, affine=False, track_running_stats=False: F.instance_norm(F.selu(F.conv2d(input, weight, bias, "
        "stride, padding, dilation, groups)), momentum=momentum, eps=eps)",
    .c_items = "kg_dim(input, 0) * kg_dim(weight, 0)",
    .c_body =
        "// Item i is a plane: its convolution goes to out, and is normalised there.\n"
        "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), size = height * width;\n"
        "const int64_t o = i % kg_dim(weight, 0), n = i / kg_dim(weight, 0);\n"
        "double mean = 0, var = 0;\n"
        "for (int64_t k = 0; k < size; k++) {\n"
        "const int64_t q = k % width, p = k / width;\n"
        KG_CONV_SUM("")
        "kg_put(out, i * size + k, 1.0507009873554805 * (sum > 0 ? sum : 1.6732632423543772 * expm1(sum)));\n"
        "mean += kg_get(out, i * size + k);\n"
        "}\n"
        "mean /= (double)size;\n"
        "for (int64_t k = 0; k < size; k++) {\n"
        "    const double d = kg_get(out, i * size + k) - mean;\n"
        "    var += d * d;\n"
        "}\n"
        "const double scale = 1.0 / sqrt(var / (double)size + eps);\n"
        "for (int64_t k = 0; k < size; k++) kg_put(out, i * size + k, (kg_get(out, i * size + k) - mean) * scale);\n",
};
