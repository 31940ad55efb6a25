// combined_activation(input, weight1, weight2, bias, *, out=None) -> Tensor
//
// tanh(sigmoid(input @ weight1)) * weight2 + bias, for input (..., N, D_in) and weight1 (D_in, D_out); weight2 and bias
// broadcast to the product's shape.
//
// Bounds. With z the product, f = tanh(sigmoid(z)) has f' = (1 - f^2) s (1 - s), at most 1/4: an error of z moves f by
// twice f' of it at most (the second half of that is for the curvature). f itself errs by a few roundings, of values
// below 1.
#include <stdlib.h>

#include "oracle/reduce.h"
#include "task/products.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight1", .kind = KG_P_TENSOR},
    {.name = "weight2", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, WEIGHT1, WEIGHT2, BIAS };

// ---- cases ----------------------------------------------------------------------------------------
// Products of deviation 1 about 0.3: sigmoid bends there, and no part of it is flat.
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor weight1, kg_tensor weight2, kg_tensor bias) {
    kg_case *c = kg_case_add(b);
    const double k = fmax(1, (double)weight1.shape[0]);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.3, 1));
    kg_set_strided(c, b->task, "weight1", weight1, KG_NORMAL(1 / k, 1 / sqrt(k)));
    kg_set_strided(c, b->task, "weight2", weight2, KG_NORMAL(1, 1));
    kg_set_strided(c, b->task, "bias", bias, KG_NORMAL(0, 0.5));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *plain(kg_cases *b, kg_dtype t, int64_t n, int64_t k, int64_t m) {
    return add(b, DENSE(n, k), DENSE(k, m), DENSE(m), DENSE(m));
}

static void quick(kg_cases *b) {
    const kg_dtype t = KG_F32;
    plain(b, t, 17, 33, 9);
    plain(b, t, 1, 1, 1);
    plain(b, t, 0, 3, 4);
    plain(b, t, 5, 0, 4);  // sigmoid(0) everywhere
    plain(b, t, 130, 257, 66);
    plain(b, t, 3, 5003, 2);
    plain(b, t, 4099, 2, 2);
    plain(b, t, 2, 2, 4099);
    add(b, DENSE(2, 3, 5, 7), DENSE(7, 11), DENSE(5, 11), DENSE(3, 1, 11));
    add(b, DENSE(3, 5, 7), DENSE(7, 9), DENSE(3, 5, 9), kg_tensor_contiguous(t, 0, NULL));
    add(b, DENSE(3, 5, 7), DENSE(7, 9), DENSE(5, 1), DENSE(3, 1, 1));
    add(b, kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1), kg_tensor_transposed(t, KG_SHAPE(65, 31), 0, 1),
        kg_tensor_stepped(t, KG_SHAPE(31), 2), kg_tensor_transposed(t, KG_SHAPE(33, 31), 0, 1));
    plain(b, t, 65, 4, 33)->args[INPUT].fill = KG_SPECIALS(0.3, 1);
    // 72 elements or more, so that each special value is among them.
    plain(b, t, 7, 16, 83)->args[WEIGHT2].fill = KG_SPECIALS(1, 1);
    plain(b, t, 7, 16, 83)->args[BIAS].fill = KG_SPECIALS(0, 1);
    plain(b, t, 5, 3, 4)->args[WEIGHT1].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    plain(b, t, 33, 16, 21)->args[INPUT].fill = KG_NORMAL(0, 30);  // both ends of sigmoid
    plain(b, KG_F16, 33, 65, 17);
    plain(b, KG_BF16, 33, 65, 17);
    plain(b, KG_F64, 33, 65, 17);
    for (int i = WEIGHT2; i <= BIAS; i++) plain(b, KG_F64, 9, 5, 7)->args[i].fill = KG_WIDE_INTEGERS;
    kg_set_tensor(plain(b, t, 34, 65, 17), b->task, "out", t, KG_SHAPE(34, 17), KG_NORMAL(0, 1));
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    plain(b, t, 8, 4096, 16);
    plain(b, t, 256, 256, 256);
    plain(b, t, 33, 65, 17)->args[INPUT].fill = KG_OUTLIERS(0, 1);
    add(b, DENSE(2, 1, 3, 2, 5), DENSE(5, 3), DENSE(3), DENSE(2, 3));
    add(b, kg_tensor_expanded(t, KG_SHAPE(4, 9, 12), 0), kg_tensor_stepped(t, KG_SHAPE(12, 10), 3), DENSE(4, 1, 10),
        DENSE(9, 10));
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(3, 9, 12)), kg_tensor_contiguous(KG_F16, KG_SHAPE(12, 10)),
        kg_tensor_contiguous(KG_F16, KG_SHAPE(9, 1)), kg_tensor_contiguous(KG_F16, KG_SHAPE(10)));
    plain(b, KG_F64, 5, 4, 3)->args[INPUT].fill = KG_SPECIALS(0, 1);
    plain(b, KG_BF16, 64, 512, 32);
}
#undef DENSE

static void square(kg_cases *b, int64_t n) { plain(b, KG_F32, n, n, n); }

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        for (int64_t n = 64; n <= (b->level == KG_TIMED_CUDA ? 2048 : 1024); n *= 2) square(b, n);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor, *w = &c->args[WEIGHT1].tensor;
    kg_tensor view;
    c->n_outs = 1;
    if (in->ndim < 2 || w->ndim != 2 || !kg_dtype_is_float(in->dtype)) return -1;
    for (int i = WEIGHT1; i <= BIAS; i++)
        if (c->args[i].tensor.dtype != in->dtype) return -1;
    if (kg_matmul_shape(in, w, &c->outs[0])) return -1;
    return kg_expand(&c->args[WEIGHT2].tensor, &c->outs[0], &view) ||
           kg_expand(&c->args[BIAS].tensor, &c->outs[0], &view);
}

// ---- oracle ---------------------------------------------------------------------------------------
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view x = kg_call_view(call, "input"), w1 = kg_call_view(call, "weight1"),
                  given2 = kg_call_view(call, "weight2"), given_bias = kg_call_view(call, "bias");
    const kg_view w2 = kg_view_expand(&given2, out), bias = kg_view_expand(&given_bias, out);
    const bool half = kg_is_half(out->dtype);
    kg_matmul_ref(&x, &w1, out, ref);
    for (size_t k = 0; k < ref->n; k++) {
        const double z = ref->value[k], s = kg_sigmoid(z), f = tanh(s), slope = 2 * (1 - f * f) * s * (1 - s);
        const double scale = kg_at(&w2, ref->index[k]), shift = kg_at(&bias, ref->index[k]), y = f * scale + shift;
        if (!isfinite(y) || !isfinite(z)) {
            kg_ref_put(ref, k, half, y, isfinite(y) ? KG_LAMBDA * (fabs(f * scale) + fabs(shift)) : 0, 0, 0);
            continue;
        }
        // Where steps are stored in half precision: z, sigmoid, tanh, the product, the sum.
        const double stored = fabs(scale) * (slope * (fabs(z) + ref->local[k]) + 2 * s + 2 * f) + fabs(shift);
        const double arithmetic = KG_LAMBDA * (fabs(scale) * (slope * fabs(z) + s + f) + fabs(shift));
        // Only the product may be tf32's: the rest is charged at float32.
        kg_ref_put(ref, k, true, y, arithmetic, half ? stored : fabs(scale) * slope * ref->local[k],
                   fabs(scale) * slope * ref->acc[k]);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    kg_work_map(t, c, w, 6, 2);
    w->ops[kg_product_unit(in->dtype)] += 2 * (double)in->shape[in->ndim - 1] * (double)kg_numel(&c->outs[0]);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->args[WEIGHT1].tensor.shape[0] + 2;
}

const kg_task kg_task_kbx_combined_activation = {
    .name = "combined_activation",
    .suite = "kbx",
    .category = "Activation",
    .signature = "combined_activation(input, weight1, weight2, bias, *, out=None) -> Tensor",
    .summary = "tanh(sigmoid(input @ weight1)) * weight2 + bias.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight1, weight2, bias, out=None: "
        "torch.add(torch.tanh(torch.sigmoid(input @ weight1)) * weight2, bias, out=out)",
    .c_body =
        "const int64_t n = kg_dim(out, -1), line = kg_line(input, -1, i / n), column = i % n * kg_stride(weight1, 1);\n"
        "double z = 0;\n"
        "for (int64_t k = 0; k < kg_dim(input, -1); k++)\n"
        "    z += kg_get_at(input, line + k * kg_stride(input, -1)) *\n"
        "         kg_get_at(weight1, column + k * kg_stride(weight1, 0));\n"
        "const double f = tanh(1.0 / (1.0 + exp(-z)));\n"
        "kg_put(out, i, f * kg_get_broadcast(weight2, out, i) + kg_get_broadcast(bias, out, i));\n",
};
