// fused_gelu_conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, approximate='none', out=None)
//     -> Tensor
//
// gelu(conv2d(input, ...)): x Phi(x), or for approximate='tanh' its form with tanh. No infinities, as for gelu itself:
// at -inf versions disagree.
//
// Bounds: the convolution's (src/oracle/product.c) through GELU, and GELU's own (src/oracle/functions.c), which is
// computed in float32 whatever the convolution's inputs were rounded to. In half precision an unfused kernel stores the
// convolution once more. The two forms differ by 4.7e-4 at most: only float64 cases, and float32 kernels of full
// precision, can show it.
#include <string.h>

#include "task/activations.h"
#include "task/convolutions.h"

static const kg_param params[] = {
    KG_CONV_INPUTS,
    KG_CONV_GEOMETRY(""),
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

static kg_case *form(kg_cases *b, kg_dtype t, const char *approximate) {
    kg_case *c = kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 9, 10)),
                                               kg_tensor_contiguous(t, KG_SHAPE(4, 3, 3, 3))));
    kg_set_str(c, b->task, "approximate", approximate);
    return c;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        const int bias = kg_conv_args_of(b->task).bias;
        kg_conv_cases(b, &(kg_conv_family){.no_specials = true});
        form(b, KG_F32, "none");
        form(b, KG_F32, "tanh");
        form(b, KG_F64, "none");
        form(b, KG_F64, "tanh");
        form(b, KG_BF16, "tanh");
        form(b, KG_F32, "none")->args[bias].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
        form(b, KG_F32, "tanh")->args[bias].fill = (kg_fill){KG_FILL_CONST, -9, 0};  // the tail
        kg_set_tensor(form(b, KG_F32, "none"), b->task, "out", KG_F32, KG_SHAPE(2, 4, 7, 8), KG_NORMAL(0, 1));
        kg_nan_cases(b);
        return 0;
    }
    static const int64_t sides[] = {16, 22, 32, 45, 64, 90, 128, 181, 256, 362, 512, 724, 1024};
    const size_t n = b->level == KG_TIMED_CUDA ? sizeof sides / sizeof *sides : 5;
    for (size_t i = 0; i < n; i++) kg_conv_image(b, 16, 16, sides[i], sides[i], 32, 3);
    return 0;
}

typedef struct {
    bool tanh_form, half;
} options;

static kg_point at(double x, const void *ctx) {
    const options *o = ctx;
    kg_point p = kg_gelu_point(x, o->tanh_form);
    if (o->half) p.local *= KG_GELU_HALF;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const options o = {strcmp(kg_call_arg(call, "approximate")->s, "tanh") == 0, kg_is_half(call->c->outs[0].dtype)};
    return kg_conv_map(call, ref, at, &o);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 2, 1); }

const kg_task kg_task_kbx_fused_gelu_conv2d = {
    .name = "fused_gelu_conv2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_gelu_conv2d(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, stride: Union[int, "
        "Tuple[int, int]] = 1, padding: Union[int, Tuple[int, int], str] = 0, dilation: Union[int, Tuple[int, int]] = "
        "1, groups: int = 1, approximate: str = 'none', out: Optional[Tensor] = None) -> Tensor",
    .summary = "GELU of a 2-d convolution; approximate is 'none' or 'tanh'.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = kg_conv_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_conv_reach,
    .torch_baseline =
        "lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, approximate='none', out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "(F.gelu(F.conv2d(input, weight, bias, stride, padding, dilation, groups), approximate=approximate))",
    .c_body = KG_CONV_PLACE KG_CONV_SUM("")
        "const double inner = 0.7978845608028654 * (sum + 0.044715 * sum * sum * sum);\n"
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n"
        "const double twice_cdf = by_tanh ? 1.0 + tanh(inner) : erfc(-sum * 0.7071067811865476);\n"
        "kg_put(out, i, 0.5 * sum * twice_cdf);\n",
};
