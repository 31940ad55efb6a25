// Bounds. The product as src/oracle/product.c has it; the bias is added behind it, or the products to it. A
// half-precision product may be stored before the bias is added (product.c charges that), and once more before the
// function is applied. The function's own error and how the layer's moves it: kg_term_map.
#include "task/linears.h"

#include "base/parallel.h"
#include "task/updates.h"

// ---- cases ------------------------------------------------------------------------------------------
kg_case *kg_linear_case(kg_cases *b, kg_tensor input, int64_t out_features, bool bias) {
    kg_case *c = kg_case_add(b);
    const int64_t k = input.shape[input.ndim - 1];
    const double scale = 1 / sqrt(fmax(1, (double)k));
    kg_set_strided(c, b->task, "input", input, KG_FACTORS);
    kg_set_tensor(c, b->task, "weight", input.dtype, KG_SHAPE(out_features, k), KG_NORMAL(0.1 * scale, 1.25 * scale));
    if (bias) kg_set_tensor(c, b->task, "bias", input.dtype, KG_SHAPE(out_features), KG_NORMAL(0.25, 1));
    return c;
}

static kg_case *weight_as(kg_cases *b, kg_case *c, kg_tensor weight) {
    kg_set_strided(c, b->task, "weight", weight, c->args[KG_LINEAR_WEIGHT].fill);
    return c;
}
static kg_case *bias_of(kg_case *c, double value) {
    c->args[KG_LINEAR_BIAS].fill = (kg_fill){KG_FILL_CONST, value, 0};
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    kg_linear_case(b, DENSE(4, 5), 3, true);
    kg_linear_case(b, DENSE(1, 1), 1, true);
    kg_linear_case(b, DENSE(33, 65), 129, true);
    kg_linear_case(b, DENSE(17, 40), 31, false);
    kg_linear_case(b, DENSE(40), 31, true);
    kg_linear_case(b, DENSE(2, 5, 33), 20, true);
    kg_linear_case(b, DENSE(0, 33), 20, true);
    kg_linear_case(b, DENSE(5, 0), 7, true);  // nothing but the bias
    kg_linear_case(b, DENSE(4, 2048), 33, true);
    kg_linear_case(b, DENSE(2, 4099), 5, true);
    kg_linear_case(b, kg_tensor_transposed(t, KG_SHAPE(33, 66), 0, 1), 50, true);
    kg_linear_case(b, kg_tensor_transposed(t, KG_SHAPE(3, 4, 35), 0, 1), 21, true);
    weight_as(b, kg_linear_case(b, DENSE(34, 65), 50, true), kg_tensor_transposed(t, KG_SHAPE(50, 65), 0, 1));
    kg_case *c = weight_as(b, kg_linear_case(b, kg_tensor_stepped(t, KG_SHAPE(9, 31), 2), 22, true),
                           kg_tensor_stepped(t, KG_SHAPE(22, 31), 3));
    kg_set_strided(c, b->task, "bias", kg_tensor_stepped(t, KG_SHAPE(22), 2), KG_NORMAL(0, 1));
    bias_of(kg_linear_case(b, DENSE(5, 7), 9, true), NAN);
    kg_linear_case(b, DENSE(3, 1), 17, false)->args[KG_LINEAR_INPUT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    bias_of(kg_linear_case(b, DENSE(5, 7), 9, true), INFINITY);
    bias_of(kg_linear_case(b, DENSE(5, 7), 9, true), -INFINITY);
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        kg_linear_case(b, DENSE(17, 65), 40, true);
        kg_linear_case(b, DENSE(5, 1025), 18, false);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    for (int64_t n = 1; n <= 7; n += 2) kg_linear_case(b, DENSE(n, 8 - n), n + 1, n > 3);
    kg_linear_case(b, DENSE(127, 129), 255, true);
    kg_linear_case(b, DENSE(1, 8192), 5, true);
    kg_linear_case(b, DENSE(2, 3, 4, 5, 6), 7, true);
    kg_linear_case(b, kg_tensor_expanded(t, KG_SHAPE(12, 9), 0), 10, true);
    kg_linear_case(b, DENSE(33, 128), 17, true)->args[KG_LINEAR_INPUT].fill = KG_OUTLIERS(0, 1);
    kg_linear_case(b, DENSE(33, 128), 17, true)->args[KG_LINEAR_INPUT].fill = KG_NORMAL(0, 1e-3);
    kg_linear_case(b, DENSE(256, 256), 256, true);
}
#undef DENSE

void kg_linear_cases(kg_cases *b) {
    quick(b);
    kg_nan_cases(b);
    if (b->level == KG_CASES_FULL) full(b);
}

int kg_linear_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[KG_LINEAR_INPUT].tensor, *weight = &c->args[KG_LINEAR_WEIGHT].tensor;
    const kg_arg *bias = &c->args[KG_LINEAR_BIAS];
    if (in->ndim < 1 || weight->ndim != 2 || in->dtype != weight->dtype || !kg_dtype_is_float(in->dtype)) return -1;
    if (in->shape[in->ndim - 1] != weight->shape[1]) return -1;
    if (!bias->none && (bias->tensor.ndim != 1 || bias->tensor.shape[0] != weight->shape[0])) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    c->outs[0].shape[in->ndim - 1] = weight->shape[0];
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, c->outs[0].shape);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
typedef struct {
    kg_view input, turned, bias;
    kg_tensor shape;
    kg_rung rung;
    kg_ref *ref;
} layer;

static int layer_range(size_t first, size_t last, void *ctx) {
    const layer *l = ctx;
    kg_ref *r = l->ref;
    kg_ref part = {r->out, last - first, r->index + first, r->value + first, r->local + first, r->acc + first};
    kg_matmul_ref(&l->input, &l->turned, &l->shape, &part);
    if (!l->bias.data) return 0;
    const int64_t features = l->shape.shape[l->shape.ndim - 1];
    for (size_t k = 0; k < part.n; k++) {
        const kg_term product = {part.value[k], part.local[k], part.acc[k]};
        const kg_term bias = kg_term_input(&l->rung, kg_at(&l->bias, part.index[k] % features));
        kg_term sum = kg_term_add(&l->rung, product, bias);
        sum.acc += kg_start_acc(bias.value, l->turned.desc.shape[0]);
        kg_term_put(&part, k, kg_term_stored(&l->rung, sum));
    }
    return 0;
}

int kg_linear_ref(const kg_call *call, kg_ref *ref) {
    const kg_view weight = kg_call_view(call, "weight");
    layer l = {.input = kg_call_view(call, "input"),
               .turned = kg_turned(&weight),
               .bias = kg_call_view(call, "bias"),
               .ref = ref};
    l.rung = kg_rung_of(call->task, l.input.desc.dtype);
    if (kg_matmul_shape(&l.input.desc, &l.turned.desc, &l.shape)) return -1;
    const double products = (double)ref->n * (double)weight.desc.shape[1];
    return kg_parallel(ref->n, products > 1e8 ? 256 : ref->n + 1, layer_range, &l);
}

int kg_linear_map(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx), const void *ctx) {
    const kg_rung rung = kg_rung_of(call->task, call->c->outs[0].dtype);
    if (kg_linear_ref(call, ref)) return -1;
    for (size_t k = 0; k < ref->n; k++)
        kg_term_put(ref, k, kg_term_map(&rung, (kg_term){ref->value[k], ref->local[k], ref->acc[k]}, f, ctx));
    return 0;
}

void kg_linear_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]), k = (double)c->args[KG_LINEAR_WEIGHT].tensor.shape[1];
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * n * k;
    w->ops[KG_U_SPECIAL] = n;
}

double kg_linear_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 2 * (double)c->args[KG_LINEAR_WEIGHT].tensor.shape[1]);
}
