// linear_w4a16(input: Tensor, weight: Tensor, bias: Tensor = None) -> Tensor
//
// input (..., K), weight (N, K), bias (N), out (..., N), all float16. A contract of arithmetic, for weights only:
//     s_j = max_k |weight[j,k]| / 7      q = round(weight[j,k] / s_j), int4, packed two a byte     per output channel
//     out[i,j] = sum_k input[i,k] (s_j q) + bias[j]                     accumulated in float16 or float32
// Packing happens inside the kernel and shows in no output. The text fixes the grain (one scale for each output
// channel) and says scales only, so no zero points. Open and right: dividing by 7, 7.5 or 8, values clamped; a scale
// kept in float16, and a quotient too; both ways of rounding ties; either accumulation. A channel of zeros gives the
// bias.
//
// Bounds: integers as in src/oracle/quantise.h. Dequantised weights may be stored in float16: that errs by at most
// 2^-11 of each, by the same for all weights of one integer, so by 2^-11 sum over the 16 integers of |their terms'
// sum|. Two |product| and the output round once more, for scale and product in float16; long products may be split as
// in src/oracle/product.c. Accumulating in float16 is a reading of its own, so that float32 kernels are held to
// float32. An int4 weight errs by 14 % of its deviation, so that a product in float is told from one through int4 in
// any case of many outputs.
#include <stdlib.h>
#include <string.h>

#include "task/quantised.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS };

// choice = {grid, what is in half precision, accumulated in half precision}
enum { SCALE_F32, SCALE_F16, QUOTIENT_F16, EIGHT_BITS, PLAIN };
#define DESIGNS(scale, grid)                                               \
    KG_QUANT_READING(scale, grid, "float32 scales", SCALE_F32, false),     \
        KG_QUANT_READING(scale, grid, "float16 scales", SCALE_F16, false), \
        KG_QUANT_READING(scale, grid, "float16 scales and quotients", QUOTIENT_F16, false)
#define IN_HALF(scale, grid)                                                                      \
    KG_QUANT_READING(scale, grid, "float32 scales, accumulated in float16", SCALE_F32, true),     \
        KG_QUANT_READING(scale, grid, "float16 scales, accumulated in float16", SCALE_F16, true), \
        KG_QUANT_READING(scale, grid, "float16 scales and quotients, accumulated in float16", QUOTIENT_F16, true)
static const kg_reading readings[] = {
    KG_INT4_READINGS(DESIGNS),
    KG_INT4_READINGS(IN_HALF),
    KG_WRONG_READING("float", KG_NO_QUANTISATION("the product", "int4"), PLAIN, false),
    KG_WRONG_READING("float, accumulated in float16", KG_NO_QUANTISATION("the product", "int4"), PLAIN, true),
    KG_WRONG_READING("int8 weights", "the weights have eight bits: the task asks for int4", EIGHT_BITS, false),
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor weight, bool bias) {
    kg_case *c = kg_case_add(b);
    const kg_fill fill = weight.shape[1] < 8 ? KG_NOT_SMALL : KG_FACTORS;
    kg_set_strided(c, b->task, "input", input, fill);
    kg_set_strided(c, b->task, "weight", weight, fill);
    if (bias) kg_set_tensor(c, b->task, "bias", KG_F16, KG_SHAPE(weight.shape[0]), KG_NORMAL(1, 4));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(KG_F16, KG_SHAPE(__VA_ARGS__))
static kg_case *sized(kg_cases *b, int64_t m, int64_t k, int64_t n, bool bias) {
    return add(b, DENSE(m, k), DENSE(n, k), bias);
}

static void quick(kg_cases *b) {
    sized(b, 17, 33, 9, true);
    sized(b, 17, 32, 9, false);
    sized(b, 1, 1, 1, true);
    sized(b, 64, 128, 48, true);
    sized(b, 33, 511, 17, false);
    sized(b, 65, 64, 129, false);
    sized(b, 1, 256, 31, true);
    sized(b, 31, 256, 1, true);
    sized(b, 0, 16, 8, true);
    sized(b, 4, 2048, 32, true);
    sized(b, 2, 4099, 5, true);
    sized(b, 4099, 8, 3, false);
    add(b, DENSE(3, 5, 40), DENSE(19, 40), true);
    add(b, DENSE(40), DENSE(19, 40), true);
    add(b, DENSE(2, 3, 4, 24), DENSE(7, 24), false);
    add(b, DENSE(2, 3, 4, 24), DENSE(7, 24), true);
    sized(b, 9, 48, 33, false)->args[INPUT].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 9, 48, 33, true)->args[WEIGHT].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 9, 1, 33, false)->args[WEIGHT].fill = (kg_fill){.kind = KG_FILL_TIES};  // channels of 0 between others
    // The outliers alone are left, the other weights quantise to 0.
    sized(b, 9, 256, 33, false)->args[WEIGHT].fill = (kg_fill){KG_FILL_OUTLIERS, 0, 0.03125};
    sized(b, 9, 65, 33, true)->args[INPUT].fill = KG_OUTLIERS(0, 0.25);
    sized(b, 9, 96, 33, false)->args[WEIGHT].fill = KG_UNIFORM(-0.05, 0.05);
    sized(b, 9, 96, 33, false)->args[WEIGHT].fill = KG_SMALL_INT4;
    sized(b, 9, 7, 65, false)->args[WEIGHT].fill = KG_LOGSCALE(-7, 5);  // channels of very different size
    sized(b, 9, 255, 33, true)->args[WEIGHT].fill = KG_NORMAL(2, 1);
    add(b, kg_tensor_transposed(KG_F16, KG_SHAPE(33, 65), 0, 1), kg_tensor_transposed(KG_F16, KG_SHAPE(18, 65), 0, 1),
        true);
    add(b, DENSE(5, 31), DENSE(12, 31), true)->args[BIAS].tensor = kg_tensor_stepped(KG_F16, KG_SHAPE(12), 3);
}

static void full(kg_cases *b) {
    for (int64_t k = 1; k <= 5; k++) sized(b, 5, k, 6, k % 2);
    sized(b, 32, 512, 64, true);
    sized(b, 2, 8192, 8, false);
    sized(b, 9, 64, 33, false)->args[WEIGHT].fill = KG_INTEGERS(-7, 7);
    add(b, kg_tensor_stepped(KG_F16, KG_SHAPE(31, 40), 2), kg_tensor_stepped(KG_F16, KG_SHAPE(21, 40), 3), false);
    add(b, kg_tensor_expanded(KG_F16, KG_SHAPE(12, 45), 0), DENSE(10, 45), true);
}
#undef DENSE

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const int64_t size = b->level == KG_TIMED_CUDA ? 4096 : 1024;
    sized(b, 1, size, size, true);
    sized(b, 8, size, size, true);
    sized(b, b->level == KG_TIMED_CUDA ? 32 : 16, size, b->level == KG_TIMED_CUDA ? 16384 : 2048, true);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[INPUT].tensor, *w = &c->args[WEIGHT].tensor;
    if (x->ndim < 1 || w->ndim != 2 || x->shape[x->ndim - 1] != w->shape[1] || x->dtype != KG_F16 || w->dtype != KG_F16)
        return -1;
    int64_t shape[KG_MAX_NDIM];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = w->shape[0];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(KG_F16, x->ndim, shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
// The row and the channel of one output.
typedef struct {
    int64_t n;
    double *x, *w;
    kg_quants q;
} space;

static kg_grid grid_of(const kg_reading *r) {
    kg_grid g = r->choice[1] == EIGHT_BITS ? kg_int8_grids[0] : kg_int4_grids[r->choice[0]];
    g.half_scale = r->choice[1] == SCALE_F16 || r->choice[1] == QUOTIENT_F16;
    g.half_quotient = r->choice[1] == QUOTIENT_F16;
    return g;
}

// What rounding each dequantised weight to float16 may do: the same to all weights of one integer.
static double stored_weights(const space *s) {
    double of_integer[256] = {0}, sum = 0;
    for (int64_t k = 0; k < s->n; k++) of_integer[s->q.q[k] + 128] += s->x[k] * s->q.q[k];
    for (int i = 0; i < 256; i++) sum += fabs(of_integer[i]);
    return sum;
}

// The product through int4, or of the weights as they are where s->q has scale 1 and no integers.
static void element(const space *s, bool plain, bool half_sum, double bias, kg_ref *ref, size_t k) {
    const double scale = plain ? 1 : s->q.scale;
    double slack = 0;
    kg_sum_t sum = {0};
    for (int64_t i = 0; i < s->n; i++) kg_dot_add(&sum, s->x[i], plain ? s->w[i] : s->q.q[i]);
    for (int64_t i = 0; !plain && i < s->q.n_open; i++) slack += s->q.off[s->q.open[i]] * fabs(s->x[s->q.open[i]]);
    const double product = scale * kg_sum_value(&sum), split = s->n < 256 ? 0 : 2 * sqrt(sum.square);
    const double rounded = plain ? 0 : stored_weights(s);
    ref->value[k] = product + bias;
    ref->local[k] = 2 * fabs(product) + fabs(ref->value[k]) + scale * (rounded + split);
    ref->acc[k] = scale * kg_sum_acc(&sum) + KG_LAMBDA * (fabs(product) + fabs(bias));
    if (half_sum) {
        ref->local[k] += scale * kg_sum_local(&sum);
        ref->acc[k] *= 0x1p13;  // 2^-11 for 2^-24
    }
    ref->acc[k] += KG_ABSOLUTE(scale * slack + (plain ? 0 : (fabs(product) + scale * slack) * s->q.scale_error));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = call->args[INPUT], w = call->args[WEIGHT], bias = kg_call_view(call, "bias");
    const int last = x.desc.ndim - 1;
    const bool plain = call->reading->choice[1] == PLAIN, half_sum = call->reading->choice[2];
    const kg_grid grid = grid_of(call->reading);
    space s = {.n = x.desc.shape[last]};
    s.x = malloc(2 * ((size_t)s.n + 1) * sizeof *s.x);
    s.w = s.x + s.n + 1;
    const int failed = kg_quants_make(&s.q, s.n) || !s.x;
    int64_t row = -1;
    for (size_t k = 0; k < ref->n && !failed; k++) {
        const int64_t i = ref->index[k] / w.desc.shape[0], j = ref->index[k] % w.desc.shape[0];
        if (i != row) kg_load_line(&x, kg_offset(&x.desc, i * s.n), x.desc.stride[last], s.n, s.x, 1);
        row = i;
        kg_load_line(&w, j * w.desc.stride[0], w.desc.stride[1], s.n, s.w, 1);
        if (!plain) kg_quantise(&s.q, s.w, NULL, s.n, kg_largest(s.w, s.n), 0, &grid);
        element(&s, plain, half_sum, bias.data ? kg_at(&bias, j) : 0, ref, k);
    }
    kg_quants_free(&s.q);
    free(s.x);
    return failed ? -1 : 0;
}

static double terms(const kg_case *c) { return (double)c->args[WEIGHT].tensor.shape[1]; }

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[KG_U_FP16] = 2 * (double)kg_numel(&c->outs[0]) * terms(c);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 8 * terms(c));
}

const kg_task kg_task_kbx_linear_w4a16 = {
    .name = "linear_w4a16",
    .suite = "kbx",
    .category = "Quantization",
    .signature = "linear_w4a16(input: Tensor, weight: Tensor, bias: Tensor = None) -> Tensor",
    .summary = "Linear layer in float16 whose weights go through int4: scales absmax/7 by output channel.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .readings = readings,
    .public_limits = &(const kg_likeness){0.15, 0.1, 0.9},
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None: (lambda w, s: F.linear(input, ((w / s).round() * s).half(), "
        "bias))(weight.float(), (weight.float().abs().amax(1, keepdim=True) / 7).clamp(min=1e-30))",
    .c_items = "kg_dim(weight, 0)",
    .c_body =
        "// Item i is an output channel.\n"
        "const int64_t terms = kg_dim(weight, 1), filters = kg_dim(weight, 0);\n"
        "double s = 0;\n"
        "for (int64_t k = 0; k < terms; k++) s = fmax(s, fabs(kg_get(weight, i * terms + k)));\n"
        "s /= 7.0;\n"
        "for (int64_t row = 0; row < kg_elements(out) / filters; row++) {\n"
        "    double sum = 0;\n"
        "    for (int64_t k = 0; s > 0 && k < terms; k++)\n"
        "        sum += kg_get(input, row * terms + k) * rint(kg_get(weight, i * terms + k) / s);\n"
        "    kg_put(out, row * filters + i, sum * s + (bias ? kg_get(bias, i) : 0.0));\n"
        "}\n",
};
