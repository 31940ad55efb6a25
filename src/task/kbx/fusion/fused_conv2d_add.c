// fused_conv2d_add(input, weight, bias=None, other=None, stride=1, padding=0, dilation=1, groups=1, alpha=1, out=None)
//     -> Tensor
//
// conv2d(input, ...) + alpha * other. other is a Tensor of input's dtype that broadcasts to the convolution's shape (no
// case makes the result larger than that), or a Number; None adds nothing, whatever alpha is.
//
// Bounds: the convolution's (src/oracle/product.c); the product with alpha and the sum round in float32 whatever the
// convolution's inputs were rounded to. In half precision an unfused kernel stores the convolution once more.
#include "task/convolutions.h"

static const kg_param params[] = {
    KG_CONV_INPUTS,
    {.name = "other", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    KG_CONV_GEOMETRY(""),
    KG_CONV_OPTION(KG_P_FLOAT, "alpha", 1),
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

// As large as the convolution, so that neither hides the other.
#define OTHER KG_NORMAL(1, 4)

static bool complete(kg_cases *b, kg_case *c) {
    kg_tensor out;
    if (kg_conv_resolve(b->task, c, &out)) return false;
    kg_set_strided(c, b->task, "other", out, OTHER);
    return true;
}

static kg_case *add(kg_cases *b, kg_dtype t) {
    return kg_conv_biased(b, kg_conv_add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 9, 10)),
                                         kg_tensor_contiguous(t, KG_SHAPE(4, 3, 3, 3))));
}

static kg_case *other(kg_cases *b, kg_case *c, kg_tensor desc, double alpha) {
    kg_set_strided(c, b->task, "other", desc, OTHER);
    if (alpha != 1) kg_set_float(c, b->task, "alpha", alpha);
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void sums(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, t);  // other is None
    kg_set_float(add(b, t), b->task, "alpha", 3);
    other(b, add(b, t), DENSE(2, 4, 7, 8), -1.75);
    other(b, add(b, t), DENSE(2, 4, 7, 8), 0);
    other(b, add(b, t), DENSE(4, 1, 1), 0.5);  // one a channel
    other(b, add(b, t), DENSE(8), 2);          // one a column
    other(b, add(b, t), DENSE(2, 1, 7, 1), 1);
    other(b, add(b, t), DENSE(1), 1);
    other(b, add(b, t), kg_tensor_transposed(t, KG_SHAPE(2, 4, 7, 8), 1, 3), 0.375);
    kg_set_number(add(b, t), b->task, "other", 2.5);
    kg_set_number(other(b, add(b, t), DENSE(8), -3), b->task, "other", 1.25);
    kg_set_tensor(other(b, add(b, t), DENSE(2, 4, 7, 8), 2), b->task, "out", t, KG_SHAPE(2, 4, 7, 8), OTHER);
    other(b, add(b, t), DENSE(2, 4, 7, 8), 2)->args[3].fill = KG_SPECIALS(0, 1);
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        other(b, add(b, t), DENSE(2, 4, 7, 8), 1.5);
    }
}
#undef DENSE

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_conv_cases(b, &(kg_conv_family){.complete = complete});
        sums(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t side = cuda ? 32 : 8; side <= (cuda ? 512 : 32); side *= 2)
        complete(b, kg_conv_one(b, kg_conv_image(b, 16, 32, side, side, 32, 3), "padding", 1));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_arg *o = kg_case_arg(c, t, "other");
    kg_tensor view;
    if (kg_conv_infer(t, c)) return -1;
    if (o->none || o->absent || o->scalar) return 0;
    return o->tensor.dtype != c->outs[0].dtype || kg_expand(&o->tensor, &c->outs[0], &view) ? -1 : 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_conv v = kg_conv_of(call);
    const kg_rung r = kg_conv_rung(call);
    const double alpha = kg_call_arg(call, "alpha")->f;
    kg_view o = kg_call_view(call, "other");
    kg_conv_ref(&v, ref);
    if (!kg_call_has(call, "other")) return 0;
    o = kg_view_expand(&o, &v.out);
    for (size_t k = 0; k < ref->n; k++) {
        const kg_term x = kg_term_stored(&r, (kg_term){ref->value[k], ref->local[k], ref->acc[k]});
        const kg_term y =
            kg_term_stored(&r, kg_term_mul(&r, kg_term_exact(alpha), kg_term_exact(kg_at(&o, ref->index[k]))));
        kg_term_put(ref, k, kg_term_add(&r, x, y));
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_conv_work(t, c, w, 2, 0); }

const kg_task kg_task_kbx_fused_conv2d_add = {
    .name = "fused_conv2d_add",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_conv2d_add(input, weight, bias=None, other=None, stride=1, padding=0, dilation=1, groups=1, alpha=1, "
        "out=None) -> Tensor",
    .summary = "A 2-d convolution plus alpha * other, broadcast; other is a Tensor, a Number or None.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_conv_reach,
    .torch_baseline =
        "lambda input, weight, bias=None, other=None, stride=1, padding=0, dilation=1, groups=1, alpha=1, out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "((lambda y: y if other is None else torch.add(y, other, alpha=alpha))"
        "(F.conv2d(input, weight, bias, stride, padding, dilation, groups)))",
    .c_body = KG_CONV_PLACE KG_CONV_SUM(
        "") "kg_put(out, i, sum + (other ? alpha * kg_get_broadcast(other, out, i) : 0.0));\n",
};
