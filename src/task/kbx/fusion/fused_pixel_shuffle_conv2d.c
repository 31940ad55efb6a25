// fused_pixel_shuffle_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, upscale_factor=2) ->
//     Tensor
//
// pixel_shuffle(conv2d(input, ...), r): filters c r^2 + i r + j, i and j below r, become channel c, where element (p,
// q) goes to (p r + i, q r + j). The number of filters is a multiple of r^2.
//
// Bounds: the convolution's (src/oracle/product.c): every element is moved as it is.
#include <stdlib.h>

#include "task/convolutions.h"

static const kg_param params[] = {
    KG_CONV_INPUTS, KG_CONV_GEOMETRY(""), KG_CONV_OPTION(KG_P_INT, "upscale_factor", 2), {.name = NULL}};

static kg_case *scaled(kg_cases *b, kg_case *c, int64_t factor) {
    kg_set_int(c, b->task, "upscale_factor", factor);
    return c;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){.filters = 4, .no_text = true});
        scaled(b, kg_conv_biased(b, kg_conv_image(b, 2, 3, 7, 9, 18, 3)), 3);
        scaled(b, kg_conv_biased(b, kg_conv_image(b, 2, 3, 7, 9, 5, 3)), 1);
        scaled(b, kg_conv_one(b, kg_conv_image(b, 2, 3, 5, 6, 16, 3), "padding", 1), 4);
        scaled(b,
               kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(2, 3, 7, 9)),
                                             kg_tensor_contiguous(KG_F16, KG_SHAPE(18, 3, 3, 3)))),
               3);
        scaled(b,
               kg_conv_add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(3, 7, 9)),
                           kg_tensor_contiguous(KG_F32, KG_SHAPE(9, 3, 3, 3))),
               3);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t side = 16; side <= (cuda ? 1024 : 128); side *= 2)
        kg_conv_biased(b, kg_conv_image(b, cuda ? 16 : 1, 3, side, side, 12, 3));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const int64_t r = kg_case_arg(c, t, "upscale_factor")->i;
    if (kg_conv_infer(t, c) || r < 1) return -1;
    int64_t *shape = &c->outs[0].shape[c->outs[0].ndim - 3];
    if (shape[0] % (r * r)) return -1;
    shape[0] /= r * r, shape[1] *= r, shape[2] *= r;
    c->outs[0] = kg_tensor_contiguous(c->outs[0].dtype, c->outs[0].ndim, c->outs[0].shape);
    return 0;
}

typedef struct {
    kg_conv conv;
    int64_t factor, height, width;  // of the convolution
    kg_stage line;                  // one line of it
} shuffle;

// A row of the output: its elements x come from `factor` filters in turn.
static int row(int64_t block, kg_stage *s, void *ctx) {
    shuffle *f = ctx;
    const int64_t r = f->factor, y = block % (f->height * r), channel = block / (f->height * r);
    for (int64_t j = 0; j < r; j++) {
        const int64_t filter = (channel * r + y % r) * r + j;  // counted on from image to image
        const int64_t first = (filter * f->height + y / r) * f->width;
        if (kg_stage_from(&f->line, first, 1, kg_conv_part, &f->conv)) return -1;
        for (int64_t q = 0; q < f->width; q++) s->at[q * r + j] = f->line.at[q];
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    shuffle f = {.conv = kg_conv_of(call), .factor = kg_call_arg(call, "upscale_factor")->i};
    const int64_t *image = f.conv.out.shape + f.conv.out.ndim - 2;
    f.height = image[0], f.width = image[1];
    f.line = (kg_stage){f.width, malloc((size_t)f.width * sizeof(kg_term) + 1)};
    const int rc = f.line.at ? kg_stage_each(ref, f.width * f.factor, 1, row, &f) : -1;
    free(f.line.at);
    return rc;
}

static double reach(const kg_task *t, const kg_case *c) {
    return kg_conv_reach(t, c) * (double)c->outs[0].shape[c->outs[0].ndim - 1];
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 0, 0); }

const kg_task kg_task_kbx_fused_pixel_shuffle_conv2d = {
    .name = "fused_pixel_shuffle_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_pixel_shuffle_conv2d(input: torch.Tensor, weight: torch.Tensor, bias=None, stride=1, padding=0, "
        "dilation=1, groups=1, upscale_factor=2) -> torch.Tensor",
    .summary = "A 2-d convolution whose filters are laid out as the pixels of images upscale_factor times as large.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, upscale_factor=2: "
        "F.pixel_shuffle(F.conv2d(input, weight, bias, stride, padding, dilation, groups), upscale_factor)",
    .c_body =
        "const int64_t u = upscale_factor, width = kg_dim(out, -1), height = kg_dim(out, -2);\n"
        "const int64_t filters = kg_dim(out, -3);\n"
        "const int64_t column = i % width, row = i / width % height, channel = i / (width * height) % filters;\n"
        "const int64_t n = i / (width * height * filters), q = column / u, p = row / u;\n"
        "const int64_t o = (channel * u + row % u) * u + column % u;\n" KG_CONV_SUM("") "kg_put(out, i, sum);\n",
};
