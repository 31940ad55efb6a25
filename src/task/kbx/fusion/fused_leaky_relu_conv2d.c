// fused_leaky_relu_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, negative_slope=0.01,
//     inplace=False) -> Tensor
//
// y = conv2d(input, ...) where it is positive, else negative_slope * y; NaN stays NaN, and a slope of 0 makes NaN of
// -inf. inplace overwrites the convolution's own result, which no caller sees: it changes nothing.
//
// Bounds: the convolution's (src/oracle/product.c), times the slope on its side; the product with the slope rounds. In
// half precision an unfused kernel stores the convolution once more.
#include "task/convolutions.h"

static const kg_param params[] = {KG_CONV_INPUTS,
                                  KG_CONV_GEOMETRY(""),
                                  KG_CONV_OPTION(KG_P_FLOAT, "negative_slope", 0.01),
                                  {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};

static void sloped(kg_cases *b, kg_case *c, double slope) { kg_set_float(c, b->task, "negative_slope", slope); }

static int cases(kg_cases *b) {
    static const double slopes[] = {0, 0.3, 1.5, -0.5, 1};
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){0});
        for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++)
            sloped(b, kg_conv_image(b, 2, 3, 9, 10, 4, 3), slopes[i]);
        sloped(b,
               kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(2, 3, 9, 10)),
                                             kg_tensor_contiguous(KG_F16, KG_SHAPE(4, 3, 3, 3)))),
               0.25);
        kg_set_bool(kg_conv_image(b, 2, 3, 9, 10, 4, 3), b->task, "inplace", true);
        return 0;
    }
    const int64_t step = b->level == KG_TIMED_CUDA ? 128 : 64;
    for (int64_t side = 2 * step; side <= 11 * step; side += step)
        kg_conv_biased(b, kg_conv_image(b, 1, 3, side, side, 6, 3));
    return 0;
}

static kg_point at(double x, const void *ctx) {
    const double y = *(const double *)ctx * x;
    return x > 0 || !isfinite(y) ? kg_point_exact(x > 0 ? x : y) : (kg_point){y, fabs(y)};
}
static int oracle(const kg_call *call, kg_ref *ref) {
    return kg_conv_map(call, ref, at, &kg_call_arg(call, "negative_slope")->f);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 2, 0); }

const kg_task kg_task_kbx_fused_leaky_relu_conv2d = {
    .name = "fused_leaky_relu_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_leaky_relu_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, "
        "negative_slope=0.01, inplace=False) -> Tensor",
    .summary = "A 2-d convolution, its negative results times negative_slope.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = kg_conv_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_conv_reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, negative_slope=0.01, "
        "inplace=False: F.leaky_relu(F.conv2d(input, weight, bias, stride, padding, dilation, groups), "
        "negative_slope, inplace)",
    .c_body = KG_CONV_PLACE KG_CONV_SUM("") "kg_put(out, i, sum > 0 ? sum : negative_slope * sum);\n",
};
