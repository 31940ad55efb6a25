// conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor
//
// input (N, C, H, W) or (C, H, W), weight (O, C / groups, R, S). padding is ints or, in Python, 'valid' or 'same':
// src/task/convolutions.h says how it crosses to C.
//
// Bounds: a product of C / groups * R * S terms (src/oracle/product.c), the zeros outside among them. A Winograd kernel
// with large tiles errs several times more than a direct one (Lavin & Gray, "Fast algorithms for convolutional neural
// networks", CVPR 2016), which may place it at tf32: still right.
#include "task/convolutions.h"
#include "task/shared.h"

const kg_param kg_conv2d_params[] = {KG_CONV_INPUTS, KG_CONV_GEOMETRY(""), {.name = NULL}};

static void timed(kg_cases *b, int64_t n, int64_t channels, int64_t image) {
    kg_conv_biased(b, kg_conv_image(b, n, channels, image, image, 2 * channels, 3));
}

int kg_conv2d_cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){0});
        // Past 4096 channels, filters and columns.
        kg_conv_image(b, 1, 4099, 3, 2, 2, 1);
        kg_conv_image(b, 1, 2, 3, 2, 4099, 1);
        kg_conv_image(b, 1, 1, 3, 4101, 1, 3);
        const kg_conv_args a = kg_conv_args_of(b->task);
        const int each[] = {a.input, a.weight, a.bias};
        const kg_tensor image = kg_tensor_contiguous(KG_F64, KG_SHAPE(1, 3, 7, 6)),
                        filters = kg_tensor_contiguous(KG_F64, KG_SHAPE(4, 3, 3, 3));
        for (int i = 0; i < 3; i++)
            kg_conv_biased(b, kg_conv_add(b, image, filters))->args[each[i]].fill = KG_WIDE_INTEGERS;
        for (int i = 0; i < 3; i++)
            kg_conv_biased(b, kg_conv_image(b, 1, 3, 7, 6, 4, 3))->args[each[i]].fill =
                (kg_fill){KG_FILL_CONST, NAN, 0};
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 2; n <= (cuda ? 128 : 16); n *= 2) timed(b, n, 8 * n, 16);
    if (!cuda) timed(b, 1, 32, 112);
    return 0;
}

int kg_conv2d_infer(const kg_task *t, kg_case *c) { return kg_conv_infer(t, c); }

int kg_conv2d_oracle(const kg_call *call, kg_ref *ref) {
    const kg_conv v = kg_conv_of(call);
    kg_conv_ref(&v, ref);
    return 0;
}

void kg_conv2d_work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 0, 0); }
double kg_conv2d_reach(const kg_task *t, const kg_case *c) { return kg_conv_reach(t, c); }

const char kg_conv2d_body[] = KG_CONV_PLACE KG_CONV_SUM("") "kg_put(out, i, sum);\n";

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
