// fused_relu_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, inplace=False) -> Tensor
//
// relu(conv2d(input, ...)); NaN stays NaN. inplace overwrites the convolution's own result, which no caller sees: it
// changes nothing, least of all the input.
//
// Bounds: the convolution's (src/oracle/product.c), which relu passes on, and cuts where the value is negative by more.
// In half precision an unfused kernel stores the convolution once more.
#include "task/convolutions.h"

static const kg_param params[] = {KG_CONV_INPUTS,
                                  KG_CONV_GEOMETRY(""),
                                  {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};

static kg_case *in_place(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "inplace", true);
    return c;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){0});
        in_place(b, kg_conv_image(b, 2, 3, 9, 10, 4, 3));
        in_place(b, kg_conv_add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 9, 8), 2, 3),
                                kg_tensor_contiguous(KG_F32, KG_SHAPE(4, 3, 3, 3))));
        return 0;
    }
    for (int64_t side = 32; side <= (b->level == KG_TIMED_CUDA ? 2048 : 128); side *= 2)
        kg_conv_image(b, 1, 3, side, side, 64, 3);
    return 0;
}

static kg_point at(double x, const void *ctx) {
    (void)ctx;
    return kg_relu_point(x);
}
static int oracle(const kg_call *call, kg_ref *ref) { return kg_conv_map(call, ref, at, NULL); }
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 1, 0); }

const kg_task kg_task_kbx_fused_relu_conv2d = {
    .name = "fused_relu_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_relu_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, inplace=False) -> "
        "Tensor",
    .summary = "ReLU of a 2-d convolution.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = kg_conv_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_conv_reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, inplace=False: "
        "F.relu(F.conv2d(input, weight, bias, stride, padding, dilation, groups), inplace)",
    .c_body = KG_CONV_PLACE KG_CONV_SUM("") "kg_put(out, i, sum > 0 || sum != sum ? sum : 0.0);\n",
};
