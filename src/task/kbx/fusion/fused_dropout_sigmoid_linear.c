// fused_dropout_sigmoid_linear(input, weight, bias=None, p=0.5, training=True, inplace=False) -> Tensor
//
// dropout(sigmoid(input @ weight.T + bias), p) of (*, in) and (out, in). Judged as src/task/dropout.h says. inplace
// drops in the intermediate result's memory, which nobody else sees: it changes nothing.
//
// Bounds: the linear layer as a product (oracle/product.c) and a sum, through sigmoid's slope (oracle/stages.h),
// divided by 1 - p; in half precision every stage may be stored.
#include "task/bmm_dropout.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    KG_P_PARAM("p", 0.5),
    KG_FLAG_PARAM("training", 1),
    KG_FLAG_PARAM("inplace", 0),
    KG_SEED_PARAM,
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, P };

// ---- cases ----------------------------------------------------------------------------------------
// Sums of about 1, whatever their length.
static kg_case *add(kg_cases *b, kg_tensor input, int64_t out_features) {
    kg_case *c = kg_case_add(b);
    const int64_t in_features = input.shape[input.ndim - 1];
    const double deviation = 1 / sqrt(sqrt((double)(in_features > 0 ? in_features : 1)));
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.02, deviation));
    kg_set_tensor(c, b->task, "weight", input.dtype, KG_SHAPE(out_features, in_features), KG_NORMAL(0.02, deviation));
    return c;
}
static kg_case *with_bias(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    kg_set_tensor(c, b->task, "bias", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(0, 1));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *plain(kg_cases *b) {
    const kg_dtype t = KG_F32;
    return with_bias(b, add(b, DENSE(129, 33), 65));
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    static const double p[] = {0, 0.1, 0.25, 0.9, 1};
    kg_dtype t = KG_F32;
    add(b, DENSE(1, 1), 1);
    with_bias(b, add(b, DENSE(5, 7), 3));
    add(b, DENSE(257, 40), 63);
    plain(b);
    with_bias(b, add(b, DENSE(0, 7), 3));
    with_bias(b, add(b, DENSE(33, 0), 17));
    with_bias(b, add(b, DENSE(33), 1025));  // one row, no batch dimension
    with_bias(b, add(b, DENSE(2, 5, 17, 9), 31));
    with_bias(b, add(b, DENSE(16, 2048), 129));
    with_bias(b, add(b, kg_tensor_transposed(t, KG_SHAPE(129, 33), 0, 1), 65));
    kg_case *c = with_bias(b, add(b, kg_tensor_stepped(t, KG_SHAPE(65, 33), 2), 64));
    kg_set_strided(c, b->task, "weight", kg_tensor_transposed(t, KG_SHAPE(64, 33), 0, 1), KG_NORMAL(0, 0.4));
    kg_set_strided(plain(b), b->task, "bias", kg_tensor_stepped(t, KG_SHAPE(65), 3), KG_NORMAL(0, 1));
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) kg_set_float(plain(b), b->task, "p", p[i]);
    kg_set_bool(plain(b), b->task, "training", false);
    kg_set_bool(plain(b), b->task, "inplace", true);
    kg_set_none(plain(b), b->task, "bias");
    c = add(b, DENSE(129, 4), 65);  // the same values in both calls
    c->args[INPUT].fill = c->args[WEIGHT].fill = (kg_fill){KG_FILL_CONST, 0.5, 0};
    kg_set_bool(plain(b), b->task, "training", false);  // what is dropped need not stay NaN
    b->items[b->n - 1].args[BIAS].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_set_bool(with_bias(b, add(b, DENSE(3, 4099), 5)), b->task, "training", false);
    plain(b)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};
    plain(b)->args[BIAS].fill = (kg_fill){KG_FILL_CONST, -INFINITY, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        t = others[i];
        with_bias(b, add(b, DENSE(129, 33), 65));
        kg_set_bool(with_bias(b, add(b, DENSE(9, 65), 17)), b->task, "training", false);
    }
}

static void full(kg_cases *b) {
    kg_dtype t = KG_F32;
    with_bias(b, add(b, DENSE(255, 257), 129));
    with_bias(b, add(b, DENSE(3, 33, 20), 333));
    with_bias(b, add(b, DENSE(4099, 5), 2));
    with_bias(b, add(b, DENSE(64, 64), 64))->args[INPUT].fill = KG_OUTLIERS(0, 0.1);
    t = KG_F16;
    kg_set_float(with_bias(b, add(b, DENSE(65, 1024), 129)), b->task, "p", 0.2);
}

static int cases(kg_cases *b) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const kg_dtype t = KG_F32;
    for (int64_t n = cuda ? 256 : 128; n <= (cuda ? 32768 : 2048); n *= 2)
        with_bias(b, add(b, DENSE(cuda ? 1024 : 64, n), 256));
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *x = &c->args[INPUT].tensor, *w = &c->args[WEIGHT].tensor;
    const kg_arg *bias = kg_case_arg(c, t, "bias");
    if (x->ndim < 1 || w->ndim != 2 || w->dtype != x->dtype || w->shape[1] != x->shape[x->ndim - 1]) return -1;
    if (!bias->none && (bias->tensor.ndim != 1 || bias->tensor.shape[0] != w->shape[0])) return -1;
    kg_tensor out = *x;
    out.shape[out.ndim - 1] = w->shape[0];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, out.ndim, out.shape);
    return 0;
}

// ---- what must hold -------------------------------------------------------------------------------
static kg_point sigmoid_at(double x, const void *ctx) {
    (void)ctx;
    return kg_sigmoid_point(x);
}

static int before(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view bias = kg_call_view(call, "bias");
    kg_view w = call->args[WEIGHT];
    const kg_rung r = kg_rung_of(call->task, out->dtype);
    const int64_t features = w.desc.shape[0], step = w.desc.stride[0];
    w.desc.shape[0] = w.desc.shape[1], w.desc.stride[0] = w.desc.stride[1];
    w.desc.shape[1] = features, w.desc.stride[1] = step;
    kg_matmul_ref(&call->args[INPUT], &w, out, ref);
    for (size_t k = 0; k < ref->n; k++) {
        kg_term z = {ref->value[k], ref->local[k], ref->acc[k]};
        if (bias.data) z = kg_term_add(&r, z, kg_term_input(&r, kg_at(&bias, ref->index[k] % features)));
        kg_term_put(ref, k, kg_term_stored(&r, kg_term_map(&r, kg_term_stored(&r, z), sigmoid_at, NULL)));
    }
    return 0;
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_dropout d = {.p = kg_dropout_p(call, "p"), .before = before};
    return kg_dropout_holds(call, a, h, &d);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->args[WEIGHT].tensor.shape[1] + 1;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * (double)c->args[WEIGHT].tensor.shape[1] * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_fused_dropout_sigmoid_linear = {
    .name = "fused_dropout_sigmoid_linear",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_dropout_sigmoid_linear(input, weight, bias=None, p=0.5, training=True, inplace=False) -> Tensor",
    .summary = "A linear layer, sigmoid, then dropout.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None, p=0.5, training=True, inplace=False: "
        "F.dropout(torch.sigmoid(F.linear(input, weight, bias)), p, training, inplace)",
    .c_body =
        "const int64_t row = i / kg_dim(weight, 0), column = i % kg_dim(weight, 0), terms = kg_dim(weight, 1);\n"
        "double z = bias ? kg_get(bias, column) : 0.0;\n"
        "for (int64_t k = 0; k < terms; k++) z += kg_get(input, row * terms + k) * kg_get(weight, column * terms + k);\n"
        "const bool dropped = training && kg_uniform(seed, i) < p;\n"
        "kg_put(out, i, dropped ? 0.0 : 1.0 / (1.0 + exp(-z)) / (training ? 1.0 - p : 1.0));\n",
};
