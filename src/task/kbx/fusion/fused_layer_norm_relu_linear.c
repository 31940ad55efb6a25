// fused_layer_norm_relu_linear(input, weight, bias=None, normalized_shape=None, eps=1e-5, elementwise_affine=True)
//
// layer_norm(relu(input @ weight.T + bias)) over normalized_shape, the last dimensions of the result; None means
// (out_features,). elementwise_affine makes a fresh weight of ones and bias of zeros, which change nothing.
//
// Bounds. The hidden layer h errs by e_j = u l_j + u_acc a_j (src/oracle/product.c); relu passes on at most that, and
// nothing where h is far below zero. Through y_j = (r_j - m) / s, s = sqrt(var + eps), the errors give
//     dy_j = (e_j - mean(e)) / s - y_j mean(y e) / s,
// at most (|e_j| + rms(e) (1 + |y_j|)) / s by Cauchy-Schwarz, since rms(y) <= 1. Of l_j only the part that truncated
// inputs shift all one way keeps its size in a mean over n elements; the rest is independent and shrinks by sqrt(n).
// Summing for the mean and the variance adds its own: a variance from sums of squares is honest here, because a relu's
// output has a mean no larger than its spread.
#include <stdlib.h>

#include "base/parallel.h"
#include "task/products.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR},
    {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "normalized_shape", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5},
    {.name = "elementwise_affine",
     .kind = KG_P_BOOL,
     .optional = true,
     .keyword = true,
     .has_default = true,
     .number = 1},
    {.name = NULL}};
enum { INPUT, WEIGHT, BIAS, NORMALIZED, EPS };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, int64_t out_features) {
    kg_case *c = kg_case_add(b);
    const int64_t in_features = input.shape[input.ndim - 1];
    kg_set_strided(c, b->task, "input", input, KG_FACTORS);
    kg_set_tensor(c, b->task, "weight", input.dtype, KG_SHAPE(out_features, in_features), KG_FACTORS);
    return c;
}

static kg_case *with_bias(kg_cases *b, kg_case *c) {
    const kg_tensor *w = &c->args[WEIGHT].tensor;
    // As large as the products it is added to.
    kg_set_tensor(c, b->task, "bias", w->dtype, KG_SHAPE(w->shape[0]), KG_NORMAL(0, sqrt((double)w->shape[1])));
    return c;
}

static kg_case *over(kg_cases *b, kg_case *c, int n, const int64_t *shape) {
    kg_set_ints(c, b->task, "normalized_shape", n, shape);
    c->args[NORMALIZED].scalar = n == 1;
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    over(b, with_bias(b, add(b, DENSE(4, 5), 3)), KG_INTS(3));
    over(b, with_bias(b, add(b, DENSE(33, 65), 129)), KG_INTS(129));
    over(b, add(b, DENSE(17, 40), 31), KG_INTS(31));
    with_bias(b, add(b, DENSE(17, 40), 31));                             // normalized_shape None
    over(b, with_bias(b, add(b, DENSE(2, 5, 33), 20)), KG_INTS(20));     // three dimensions
    over(b, with_bias(b, add(b, DENSE(2, 5, 33), 20)), KG_INTS(5, 20));  // normalised over two of them
    over(b, with_bias(b, add(b, DENSE(0, 33), 20)), KG_INTS(20));
    over(b, with_bias(b, add(b, DENSE(3, 1), 16)), KG_INTS(16));
    kg_set_float(over(b, with_bias(b, add(b, DENSE(9, 33), 20)), KG_INTS(20)), b->task, "eps", 10);
    kg_set_float(over(b, with_bias(b, add(b, DENSE(2, 5, 33), 20)), KG_INTS(5, 20)), b->task, "eps", 10);
    kg_set_float(with_bias(b, add(b, DENSE(9, 33), 20)), b->task, "eps", 10);
    kg_set_bool(over(b, with_bias(b, add(b, DENSE(9, 33), 20)), KG_INTS(20)), b->task, "elementwise_affine", false);
    over(b, with_bias(b, add(b, kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1), 50)), KG_INTS(50));
    over(b, add(b, DENSE(4, 2048), 33), KG_INTS(33));
    over(b, with_bias(b, add(b, DENSE(3, 5), 2053)), KG_INTS(2053));
    // relu keeps NaN and makes 0 of -inf.
    over(b, with_bias(b, add(b, DENSE(5, 7), 9)), KG_INTS(9))->args[BIAS].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    over(b, with_bias(b, add(b, DENSE(5, 7), 9)), KG_INTS(9))->args[BIAS].fill = (kg_fill){KG_FILL_CONST, -INFINITY, 0};
    over(b, with_bias(b, add(b, DENSE(5, 7), 9)), KG_INTS(9))->args[BIAS].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};
    over(b, add(b, DENSE(5, 7), 9), KG_INTS(9))->args[INPUT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        over(b, with_bias(b, add(b, DENSE(17, 65), 40)), KG_INTS(40));
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    over(b, with_bias(b, add(b, DENSE(64), 48)), KG_INTS(48));  // one row, no batch dimension
    over(b, with_bias(b, add(b, DENSE(2, 3, 4, 20), 16)), KG_INTS(3, 4, 16));
    over(b, with_bias(b, add(b, DENSE(65, 257), 1025)), KG_INTS(1025));
    over(b, with_bias(b, add(b, DENSE(5, 64), 1)), KG_INTS(1));  // one feature: zero
    over(b, with_bias(b, add(b, DENSE(16, 64), 48)), KG_INTS(48))->args[INPUT].fill = KG_OUTLIERS(0, 1);
    over(b, add(b, DENSE(16, 64), 48), KG_INTS(48))->args[INPUT].fill = KG_NORMAL(0, 1e-4);  // eps matters
}
#undef DENSE

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const int64_t last = b->level == KG_TIMED_CUDA ? 131072 : 8192;
    for (int64_t n = 256; n <= last; n *= 2)
        over(b, with_bias(b, add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(32, n)), n / 2)), KG_INTS(n / 2));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[INPUT].tensor, *w = &c->args[WEIGHT].tensor;
    const kg_arg *over = &c->args[NORMALIZED];
    if (x->ndim < 1 || w->ndim != 2 || w->dtype != x->dtype || w->shape[1] != x->shape[x->ndim - 1]) return -1;
    kg_tensor out = *x;
    out.shape[out.ndim - 1] = w->shape[0];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, out.ndim, out.shape);
    for (int i = 0; !over->none && i < over->n; i++)
        if (over->n > out.ndim || over->ints[i] != out.shape[out.ndim - over->n + i]) return -1;
    return 0;
}

// Elements normalised together.
static int64_t block_of(const kg_case *c) {
    const kg_arg *over = &c->args[NORMALIZED];
    if (over->none) return c->args[WEIGHT].tensor.shape[0];
    int64_t n = 1;
    for (int i = 0; i < over->n; i++) n *= over->ints[i];
    return n;
}

// ---- the hidden layer -----------------------------------------------------------------------------
typedef struct {
    const kg_call *call;
    kg_view x, w, bias;
    int64_t first;            // output element that the block starts with
    double *r, *local, *acc;  // relu and its error, per element of the block
    double *shift;            // the part of local that has one sign for all
} hidden;

static kg_lanes dot(const hidden *h, int64_t row_at, int64_t column, int lanes) {
    const int64_t k_all = h->w.desc.shape[1], x_step = h->x.desc.stride[h->x.desc.ndim - 1];
    double row[KG_TILE], tile[KG_TILE][KG_LANES] = {{0}};
    kg_lanes l = kg_lanes_start(h->x.desc.dtype);
    for (int64_t k = 0; k < k_all; k += KG_TILE) {
        const int64_t n = k_all - k < KG_TILE ? k_all - k : KG_TILE;
        kg_load_line(&h->x, row_at + k * x_step, x_step, n, row, 1);
        for (int i = 0; i < lanes; i++)
            kg_load_line(&h->w, (column + i) * h->w.desc.stride[0] + k * h->w.desc.stride[1], h->w.desc.stride[1], n,
                         &tile[0][i], KG_LANES);
        kg_lanes_add(&l, row, (const double(*)[KG_LANES])tile, n);
    }
    return l;
}

static void keep(const hidden *h, const kg_lanes *l, int lane, int64_t at, double bias) {
    const double product = kg_lanes_value(l, lane), value = product + bias;
    const double local = kg_lanes_local(l, lane) + fabs(bias) + fabs(value);
    const double acc = kg_lanes_acc(l, lane) + fabs(product) + kg_start_acc(bias, l->n);
    // Where h is negative by more than the coarsest rung's error, relu gives exactly zero.
    const bool dead = value < -(0x1p-4 * local + 0x1p-11 * acc);
    h->r[at] = value > 0 || isnan(value) ? value : 0;
    h->local[at] = dead ? 0 : local;
    h->acc[at] = dead ? 0 : acc;
    h->shift[at] = dead || l->half ? 0 : 2 * fabs(product);
}

static int hidden_range(size_t first, size_t last, void *ctx) {
    const hidden *h = ctx;
    const int64_t features = h->w.desc.shape[0];
    kg_tensor rows = h->x.desc;  // its last dimension as one element: logical index = row
    rows.shape[rows.ndim - 1] = 1;
    for (int64_t at = (int64_t)first; at < (int64_t)last;) {
        const int64_t row = (h->first + at) / features, column = (h->first + at) % features;
        int64_t lanes = features - column < (int64_t)last - at ? features - column : (int64_t)last - at;
        if (lanes > KG_LANES) lanes = KG_LANES;
        const kg_lanes l = dot(h, kg_offset(&rows, row), column, (int)lanes);
        for (int i = 0; i < (int)lanes; i++, at++) keep(h, &l, i, at, h->bias.data ? kg_at(&h->bias, column + i) : 0);
    }
    return 0;
}

// ---- the normalisation ----------------------------------------------------------------------------
typedef struct {
    double mean, s;                 // s = sqrt(var + eps)
    double mean_local, rms_acc;     // what the hidden layer's errors may come to in a mean
    double mean_acc, variance_acc;  // what summing adds to each, units of u_acc
} norm;

static norm normalise(const hidden *h, int64_t n, double eps) {
    norm r = {0};
    kg_sum_t sum = {0}, squares = {0}, centred = {0};
    double own2 = 0, shift2 = 0, acc2 = 0;
    for (int64_t j = 0; j < n; j++) {
        kg_sum_add(&sum, h->r[j]);
        kg_dot_add(&squares, h->r[j], h->r[j]);
        const double own = h->local[j] - h->shift[j];
        own2 += own * own;
        shift2 += h->shift[j] * h->shift[j];
        acc2 += h->acc[j] * h->acc[j];
    }
    const double count = (double)n;
    r.mean = kg_sum_value(&sum) / count;
    for (int64_t j = 0; j < n; j++) kg_dot_add(&centred, h->r[j] - r.mean, h->r[j] - r.mean);
    r.s = sqrt(kg_sum_value(&centred) / count + eps);
    r.mean_local = sqrt(own2) / count + sqrt(shift2 / count), r.rms_acc = sqrt(acc2 / count);
    r.mean_acc = kg_sum_acc(&sum) / count;
    r.variance_acc = kg_sum_acc(&squares) / count + 2 * fabs(r.mean) * r.mean_acc;
    return r;
}

static void element(const hidden *h, const norm *m, int64_t j, kg_ref *ref, size_t k) {
    const double y = (h->r[j] - m->mean) / m->s, size = fabs(y);
    ref->value[k] = y;
    ref->local[k] = (h->local[j] + m->mean_local * (1 + size) + 2 * fabs(m->mean)) / m->s + KG_LAMBDA * size;
    ref->acc[k] =
        (h->acc[j] + m->rms_acc * (1 + size) + m->mean_acc) / m->s + size * m->variance_acc / (2 * m->s * m->s);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const int64_t n = block_of(call->c);
    double *space = malloc(4 * (size_t)n * sizeof *space + 1);
    if (!space) return -1;
    hidden h = {.call = call,
                .x = kg_call_view(call, "input"),
                .w = kg_call_view(call, "weight"),
                .bias = kg_call_view(call, "bias"),
                .first = -1,
                .r = space,
                .local = space + n,
                .acc = space + 2 * n,
                .shift = space + 3 * n};
    norm m = {0};
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t first = ref->index[k] / n * n;
        if (first != h.first) {
            h.first = first;
            // A block of a large layer is worth every processor: a row of the largest has 8.6e9 products.
            const double work = (double)n * (double)h.w.desc.shape[1];
            kg_parallel((size_t)n, work > 1e8 ? 256 : (size_t)n, hidden_range, &h);
            m = normalise(&h, n, kg_call_arg(call, "eps")->f);
        }
        element(&h, &m, ref->index[k] - first, ref, k);
    }
    free(space);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]), k = (double)c->args[WEIGHT].tensor.shape[1];
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * n * k;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return (double)c->args[WEIGHT].tensor.shape[1] * (double)block_of(c);
}

const kg_task kg_task_kbx_fused_layer_norm_relu_linear = {
    .name = "fused_layer_norm_relu_linear",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_layer_norm_relu_linear(input, weight, bias=None, normalized_shape=None, eps=1e-5, "
        "elementwise_affine=True) -> Tensor",
    .summary =
        "A linear layer, ReLU, then layer norm over the last dimensions (None: over out_features) without weights.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, weight, bias=None, normalized_shape=None, eps=1e-5, elementwise_affine=True: F.layer_norm("
        "F.relu(F.linear(input, weight, bias)), (weight.shape[0],) if normalized_shape is None else "
        "(normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape), eps=eps)",
    .cpu_baseline = "onednn",
    .c_items = "kg_elements(out) / kg_dim(weight, 0)",
    .c_body =
        "// Item i is a row of the linear layer; the first row of a normalised block does the whole block.\n"
        "const int64_t features = kg_dim(weight, 0), k = kg_dim(weight, 1), first = i * features;\n"
        "int64_t n = features;\n"
        "if (normalized_shape) {\n"
        "    n = 1;\n"
        "    for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];\n"
        "}\n"
        "if (first % n) return;\n"
        "double sum = 0, squares = 0;\n"
        "for (int64_t e = first; e < first + n; e++) {\n"
        "    const int64_t row = e / features, column = e % features;\n"
        "    double h = bias ? kg_get(bias, column) : 0.0;\n"
        "    for (int64_t m = 0; m < k; m++) h += kg_get(input, row * k + m) * kg_get(weight, column * k + m);\n"
        "    kg_put(out, e, h > 0 || h != h ? h : 0.0);\n"
        "    sum += kg_get(out, e);\n"
        "}\n"
        "const double mean = sum / (double)n;\n"
        "for (int64_t e = first; e < first + n; e++)\n"
        "    squares += (kg_get(out, e) - mean) * (kg_get(out, e) - mean);\n"
        "const double scale = 1.0 / sqrt(squares / (double)n + eps);\n"
        "for (int64_t e = first; e < first + n; e++) kg_put(out, e, (kg_get(out, e) - mean) * scale);\n",
};
