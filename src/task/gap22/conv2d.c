// conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor
//
// kbx's conv2d, timed at the published sizes (data/gap22_published.csv), padded by 1 so that the image keeps its size.
// The study's variants (1x1, 5x5, 7x7, stride 2, depthwise) are among the cases.
#include "task/products.h"
#include "task/shared.h"

static kg_case *add(kg_cases *b, int64_t n, int64_t channels, int64_t image, int64_t filters, int64_t side) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(n, channels, image, image), KG_FACTORS);
    kg_set_tensor(c, b->task, "weight", KG_F16, KG_SHAPE(filters, channels, side, side), KG_FACTORS);
    kg_set_ints(c, b->task, "padding", KG_INTS(side / 2));
    c->args[kg_param_index(b->task, "padding")].scalar = true;
    return c;
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CUDA) {
        add(b, 8, 64, 56, 64, 3);
        add(b, 32, 256, 128, 256, 3);
        return 0;
    }
    if (b->level != KG_TIMED_CPU)
        for (int64_t side = 1; side <= 7; side += 2) {
            kg_case *c = add(b, 2, 16, 15, 24, side);
            if (side == 5) kg_set_ints(c, b->task, "stride", KG_INTS(2, 2));
        }
    return kg_conv2d_cases(b);
}

const kg_task kg_task_gap22_conv2d = {
    .name = "conv2d",
    .suite = "gap22",
    .category = "Convolution",
    .signature = "conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor",
    .summary =
        "2-d cross-correlation of images with filters; padding is ints, 'valid' or 'same' (C gets the zeros in front).",
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .reach = kg_conv2d_reach,
    .torch_baseline = "F.conv2d",
    .cpu_baseline = "onednn",
    .cuda_baseline = "cudnn",
    KG_OPERATION(conv2d),
};
