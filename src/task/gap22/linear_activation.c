// linear_activation(x, w1, w3, rms_w, eps=1e-6) -> Tensor
//
// The first half of a gated feed-forward block: n = rms_norm(x) * rms_w over the last dimension, then
// silu(n @ w1.T) * (n @ w3.T). x (..., K), w1 and w3 (N, K), rms_w (K,).
//
// Bounds. n is rounded once or twice before it is multiplied, so both products err as if their inputs were rounded
// (src/oracle/product.c), in half precision too, and by n's share of the mean square's error. p and q pass through
// silu(p) q with |silu'(p)| |q| and |silu(p)|; silu'' <= 1/2 adds what the error of p squared may, at bfloat16's
// roundoff.
#include <stdlib.h>

#include "oracle/reduce.h"
#include "task/products.h"

static const kg_param params[] = {
    {.name = "x", .kind = KG_P_TENSOR},
    {.name = "w1", .kind = KG_P_TENSOR},
    {.name = "w3", .kind = KG_P_TENSOR},
    {.name = "rms_w", .kind = KG_P_TENSOR},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-6},
    {.name = NULL}};
enum { X, W1, W3, RMS_W, EPS };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor x, int64_t features) {
    kg_case *c = kg_case_add(b);
    const int64_t k = x.shape[x.ndim - 1];
    // Weights that make both products about 1.5 large: silu bends there.
    const kg_fill weights = KG_NORMAL(0.1, 1.5 / sqrt(k > 0 ? (double)k : 1));
    kg_set_strided(c, b->task, "x", x, KG_NORMAL(0.25, 2));
    kg_set_tensor(c, b->task, "w1", x.dtype, KG_SHAPE(features, k), weights);
    kg_set_tensor(c, b->task, "w3", x.dtype, KG_SHAPE(features, k), weights);
    kg_set_tensor(c, b->task, "rms_w", x.dtype, KG_SHAPE(k), KG_NORMAL(1, 0.5));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(3, 5), 4);
    add(b, DENSE(1, 1), 1);
    add(b, DENSE(7), 9);
    add(b, DENSE(2, 5, 33), 20);
    add(b, DENSE(0, 33), 20);
    add(b, DENSE(4, 33), 0);
    add(b, DENSE(17, 65), 129);
    add(b, DENSE(2, 9), 1031);
    add(b, DENSE(1, 9, 1025), 17);
    add(b, DENSE(2, 4099), 3);
    add(b, DENSE(5, 7), 4)->args[X].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, DENSE(5, 7), 4)->args[W3].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_set_float(add(b, DENSE(9, 33), 20), b->task, "eps", 4);
    add(b, DENSE(9, 40), 20)->args[X].fill = KG_NORMAL(0, 1e-3);  // the default eps shows
    add(b, kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1), 31);
    kg_case *c = add(b, kg_tensor_stepped(t, KG_SHAPE(9, 40), 3), 21);
    kg_set_strided(c, b->task, "w1", kg_tensor_transposed(t, KG_SHAPE(21, 40), 0, 1), c->args[W1].fill);
    kg_set_strided(c, b->task, "w3", kg_tensor_stepped(t, KG_SHAPE(21, 40), 2), c->args[W3].fill);
    kg_set_strided(c, b->task, "rms_w", kg_tensor_stepped(t, KG_SHAPE(40), 2), c->args[RMS_W].fill);
    add(b, DENSE(9, 64), 20)->args[X].fill = KG_OUTLIERS(0, 1);
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(2, 5, 64), 33);
        add(b, DENSE(3, 1024), 9);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(2, 2, 3, 40), 16);
    add(b, DENSE(64, 128), 256);
    add(b, DENSE(3, 4096), 5);
    add(b, DENSE(300, 7), 3);
    add(b, kg_tensor_expanded(t, KG_SHAPE(9, 40), 0), 20);
    add(b, DENSE(9, 40), 20)->args[X].fill = KG_NORMAL(1000, 1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    kg_dtype t = KG_F16;
    if (b->level == KG_TIMED_CUDA) {  // the published sizes: data/gap22_published.csv
        add(b, DENSE(1, 256, 1024), 4096);
        add(b, DENSE(1, 2048, 4096), 16384);
        return 0;
    }
    t = KG_F32;
    for (int64_t n = 128; n <= 512; n *= 2) add(b, DENSE(1, n / 4, n), 4 * n);
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[X].tensor, *w1 = &c->args[W1].tensor, *w3 = &c->args[W3].tensor;
    const kg_tensor *g = &c->args[RMS_W].tensor;
    if (x->ndim < 1 || w1->ndim != 2 || w3->ndim != 2 || g->ndim != 1 || !kg_dtype_is_float(x->dtype)) return -1;
    const int64_t k = x->shape[x->ndim - 1];
    if (w1->shape[1] != k || w3->shape[1] != k || g->shape[0] != k || w1->shape[0] != w3->shape[0]) return -1;
    if (w1->dtype != x->dtype || w3->dtype != x->dtype || g->dtype != x->dtype) return -1;
    kg_tensor out = *x;
    out.shape[out.ndim - 1] = w1->shape[0];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, out.ndim, out.shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x, w1, w3, g;
    double eps, *n;  // the normalised row
    double acc;      // its relative error, units of u_acc
} block;

static void normalise(block *b, const kg_groups *rows, int64_t row) {
    const int64_t k = b->g.desc.shape[0], at = kg_group_start(rows, row), step = b->x.desc.stride[b->x.desc.ndim - 1];
    kg_sum_t squares = {0};
    kg_load_line(&b->x, at, step, k, b->n, 1);
    for (int64_t i = 0; i < k; i++) kg_dot_add(&squares, b->n[i], b->n[i]);
    const double s2 = kg_sum_value(&squares) / (double)k + b->eps;
    b->acc = kg_sum_acc(&squares) / (double)k / (2 * s2);
    for (int64_t i = 0; i < k; i++) b->n[i] = b->n[i] / sqrt(s2) * kg_at(&b->g, i);
}

// Products of the row with columns column .. column + lanes - 1.
static kg_lanes product(const block *b, const kg_view *w, int64_t column, int lanes) {
    const int64_t all = w->desc.shape[1];
    double tile[KG_TILE][KG_LANES] = {{0}};
    // Inputs that were rounded: not exact, whatever the dtype.
    kg_lanes l = kg_lanes_start(w->desc.dtype == KG_F64 ? KG_F64 : KG_F32);
    for (int64_t k = 0; k < all; k += KG_TILE) {
        const int64_t n = all - k < KG_TILE ? all - k : KG_TILE;
        for (int i = 0; i < lanes; i++)
            kg_load_line(w, (column + i) * w->desc.stride[0] + k * w->desc.stride[1], w->desc.stride[1], n, &tile[0][i],
                         KG_LANES);
        kg_lanes_add(&l, b->n + k, (const double(*)[KG_LANES])tile, n);
    }
    return l;
}

static void element(const block *b, const kg_lanes *lp, const kg_lanes *lq, int lane, kg_ref *ref, size_t k) {
    const double p = kg_lanes_value(lp, lane), q = kg_lanes_value(lq, lane), s = kg_sigmoid(p), silu = p * s;
    const double slope = fabs(s * (1 + p * (1 - s)));
    const double p_local = 2 * kg_lanes_local(lp, lane), q_local = 2 * kg_lanes_local(lq, lane);
    const double p_acc = kg_lanes_acc(lp, lane) + fabs(p) * b->acc, q_acc = kg_lanes_acc(lq, lane) + fabs(q) * b->acc;
    const double v = silu * q, bent = slope + 0x1p-9 * p_local;
    ref->value[k] = v;
    ref->local[k] = fabs(q) * bent * p_local + fabs(silu) * q_local + KG_LAMBDA * (fabs(p * q) * slope + fabs(v));
    ref->acc[k] = fabs(q) * bent * p_acc + fabs(silu) * q_acc;
    if (!isfinite(v)) ref->local[k] = ref->acc[k] = 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    block b = {.x = kg_call_view(call, "x"),
               .w1 = kg_call_view(call, "w1"),
               .w3 = kg_call_view(call, "w3"),
               .g = kg_call_view(call, "rms_w"),
               .eps = kg_call_arg(call, "eps")->f};
    const int64_t features = b.w1.desc.shape[0];
    const kg_groups rows = kg_groups_of(&b.x.desc, 1 << (b.x.desc.ndim - 1));
    b.n = malloc((size_t)b.g.desc.shape[0] * sizeof *b.n + 1);
    if (!b.n) return -1;
    int64_t row = -1;
    for (size_t k = 0; k < ref->n;) {
        const int64_t here = ref->index[k] / features, column = ref->index[k] % features;
        if (here != row) normalise(&b, &rows, row = here);
        int lanes = 1;
        while (lanes < KG_LANES && column + lanes < features && k + (size_t)lanes < ref->n &&
               ref->index[k + (size_t)lanes] == ref->index[k] + lanes)
            lanes++;
        const kg_lanes p = product(&b, &b.w1, column, lanes), q = product(&b, &b.w3, column, lanes);
        for (int i = 0; i < lanes; i++, k++) element(&b, &p, &q, i, ref, k);
    }
    free(b.n);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]), k = (double)c->args[W1].tensor.shape[1];
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 4 * n * k;
    w->ops[KG_U_SPECIAL] = n;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 6 * (double)c->args[W1].tensor.shape[1] + 1;
}

const kg_task kg_task_gap22_linear_activation = {
    .name = "linear_activation",
    .suite = "gap22",
    .category = "Fusion",
    .signature = "linear_activation(x, w1, w3, rms_w, eps=1e-6) -> Tensor",
    .summary = "silu(n @ w1.T) * (n @ w3.T) for n = rms_norm(x) * rms_w over the last dimension.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x, w1, w3, rms_w, eps=1e-6: (lambda n: F.silu(n @ w1.T) * (n @ w3.T))(F.rms_norm(x, (x.shape[-1],), "
        "rms_w, eps))",
    .c_body =
        "const int64_t features = kg_dim(w1, 0), all = kg_dim(w1, 1), row = i / features, column = i % features;\n"
        "double squares = 0, p = 0, q = 0;\n"
        "for (int64_t k = 0; k < all; k++) {\n"
        "    const double v = kg_get(x, row * all + k), n = v * kg_get(rms_w, k);\n"
        "    squares += v * v;\n"
        "    p += n * kg_get_at(w1, column * kg_stride(w1, 0) + k * kg_stride(w1, 1));\n"
        "    q += n * kg_get_at(w3, column * kg_stride(w3, 0) + k * kg_stride(w3, 1));\n"
        "}\n"
        "const double scale = 1.0 / sqrt(squares / (double)all + eps);\n"
        "p *= scale;\n"
        "kg_put(out, i, p / (1.0 + exp(-p)) * (q * scale));\n",
};
