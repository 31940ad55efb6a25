// attention(q, k, v, causal: bool = False, softmax_scale=None, *, out=None) -> Tensor
//
// softmax(scale * q @ k^T) @ v over the last two dimensions: q (..., L, E), k (..., S, E), v (..., S, F), the same
// dimensions before them. softmax_scale None: 1 / sqrt(E); not negative (PyTorch takes its root). causal: row i sees
// the first i + 1 of k and v; only asked with L = S, since for others the libraries align the triangle at different
// corners.
//
// Bounds. The scores as src/oracle/product.c has them, and rounded where they are scaled; kg_stage_softmax; the weights
// are stored in half precision (flash kernels do so before the second product, as they do the scores where kernels are
// not fused); the second product: kg_stage_dot. Rescaling sums as a row's maximum grows rounds like the exponentials
// do.
#include <stdlib.h>

#include "oracle/stages.h"
#include "task/products.h"
#include "task/updates.h"

static const kg_param params[] = {
    {.name = "q", .kind = KG_P_TENSOR},
    {.name = "k", .kind = KG_P_TENSOR},
    {.name = "v", .kind = KG_P_TENSOR},
    {.name = "causal", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "softmax_scale", .kind = KG_P_FLOAT, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { Q, K, V, CAUSAL, SCALE };

// ---- cases ----------------------------------------------------------------------------------------
// v has a mean, so that no weighted mean of its rows is 0 by chance.
static kg_case *with(kg_cases *b, kg_tensor q, kg_tensor k, kg_tensor v) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "q", q, KG_NORMAL(0.1, 1));
    kg_set_strided(c, b->task, "k", k, KG_NORMAL(0.1, 1));
    kg_set_strided(c, b->task, "v", v, KG_NORMAL(0.5, 1));
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor x) { return with(b, x, x, x); }
static kg_case *causal(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "causal", true);
    return c;
}
static kg_case *scaled(kg_cases *b, kg_case *c, double scale) {
    kg_set_float(c, b->task, "softmax_scale", scale);
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(2, 3, 17, 8));
    add(b, DENSE(1, 1, 1, 1));
    add(b, DENSE(33, 16));
    add(b, DENSE(3, 33, 24));
    add(b, DENSE(1, 1, 129, 16));
    add(b, DENSE(1, 5, 256));  // what a kernel keeps of a row of v may well have a limit: no longer ones
    add(b, DENSE(0, 2, 5, 4));
    causal(b, add(b, DENSE(2, 3, 17, 8)));
    causal(b, add(b, DENSE(1, 1, 129, 16)));
    causal(b, add(b, DENSE(33, 16)));
    causal(b, add(b, DENSE(1, 1, 300, 8)));
    causal(b, with(b, DENSE(1, 9, 96), DENSE(1, 9, 96), DENSE(1, 9, 200)));
    scaled(b, add(b, DENSE(2, 17, 16)), 1);
    scaled(b, add(b, DENSE(2, 17, 16)), 0.03125);
    scaled(b, add(b, DENSE(2, 17, 16)), 0);
    causal(b, scaled(b, add(b, DENSE(2, 17, 16)), 0.5));
    with(b, DENSE(2, 2, 5, 16), DENSE(2, 2, 33, 16), DENSE(2, 2, 33, 16));
    with(b, DENSE(2, 65, 16), DENSE(2, 7, 16), DENSE(2, 7, 16));
    with(b, DENSE(2, 9, 16), DENSE(2, 33, 16), DENSE(2, 33, 5));
    with(b, DENSE(2, 1, 80), DENSE(2, 40, 80), DENSE(2, 40, 80));
    // Large scores, their exponentials overflow unless the largest is taken off; and all of a row below 0.
    scaled(b, add(b, DENSE(2, 17, 16)), 30);
    scaled(b, add(b, DENSE(2, 17, 16)), 600);
    // And below what is often taken for -infinity; not so far that scaling within the exponent, as fast kernels do,
    // overflows.
    kg_case *below = scaled(b, add(b, DENSE(2, 17, 16)), 3e5);
    below->args[Q].fill = KG_NORMAL(1, 0.1), below->args[K].fill = KG_NORMAL(-1, 0.1);
    below = causal(b, scaled(b, add(b, DENSE(2, 17, 16)), 3e5));
    below->args[Q].fill = KG_NORMAL(1, 0.1), below->args[K].fill = KG_NORMAL(-1, 0.1);
    with(b, DENSE(2, 2, 4), DENSE(2, 4099, 4), DENSE(2, 4099, 3));
    with(b, DENSE(2, 2, 4), DENSE(2, 4099, 4), DENSE(2, 4099, 3))->args[Q].fill = KG_LARGE_LOGITS;
    with(b, DENSE(3, 4099), DENSE(5, 4099), DENSE(5, 2));
    // As (N, L, H, E) in memory, and k as E lines.
    kg_tensor x = kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 8), 1, 2);
    causal(b, with(b, x, x, x));
    with(b, kg_tensor_stepped(t, KG_SHAPE(2, 17, 8), 2), kg_tensor_transposed(t, KG_SHAPE(2, 17, 8), 1, 2),
         DENSE(2, 17, 8));
    kg_case *c = add(b, DENSE(2, 18, 8));
    kg_set_tensor(c, b->task, "out", t, KG_SHAPE(2, 18, 8), KG_NORMAL(0, 1));
    causal(b, add(b, DENSE(2, 17, 8)))->args[V].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, DENSE(2, 17, 8))->args[Q].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(2, 33, 40));
        causal(b, add(b, DENSE(1, 2, 65, 16)));
    }
}

static void full(kg_cases *b) {
    kg_dtype t = KG_F32;
    for (int64_t n = 1; n <= 7; n += 2) causal(b, add(b, DENSE(2, n, 8 - n)));
    add(b, DENSE(1, 1, 257, 16));
    causal(b, add(b, DENSE(1, 2, 100, 33)));
    with(b, DENSE(1, 3, 32), DENSE(1, 1025, 32), DENSE(1, 1025, 32));
    add(b, DENSE(2, 2, 2, 9, 8));
    add(b, kg_tensor_expanded(t, KG_SHAPE(3, 9, 8), 0));
    add(b, DENSE(2, 33, 16))->args[V].fill = KG_OUTLIERS(0.5, 1);
    add(b, DENSE(2, 33, 16))->args[K].fill = KG_OUTLIERS(0, 0.2);
    t = KG_F16;
    causal(b, add(b, DENSE(1, 2, 129, 24)));
    with(b, DENSE(2, 2, 5, 32), DENSE(2, 2, 300, 32), DENSE(2, 2, 300, 32));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const kg_dtype t = KG_F32;
    for (int64_t n = 64; n <= (b->level == KG_TIMED_CUDA ? 1024 : 256); n *= 2) add(b, DENSE(2, 8, n, 64));
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *q = &c->args[Q].tensor, *k = &c->args[K].tensor, *v = &c->args[V].tensor;
    const int n = q->ndim;
    if (n < 2 || k->ndim != n || v->ndim != n || !kg_dtype_is_float(q->dtype)) return -1;
    if (k->dtype != q->dtype || v->dtype != q->dtype) return -1;
    for (int d = 0; d < n - 2; d++)
        if (k->shape[d] != q->shape[d] || v->shape[d] != q->shape[d]) return -1;
    if (k->shape[n - 1] != q->shape[n - 1] || v->shape[n - 2] != k->shape[n - 2] || k->shape[n - 2] == 0) return -1;
    if (c->args[CAUSAL].i && q->shape[n - 2] != k->shape[n - 2]) return -1;
    // Masked before it is scaled, as in PyTorch, or after: 0 times -infinity is NaN, or not.
    const kg_arg *scale = &c->args[SCALE];
    if (c->args[CAUSAL].i && !scale->none && !scale->absent && scale->f == 0) return -1;
    c->n_outs = 1;
    c->outs[0] = *q;
    c->outs[0].shape[n - 1] = v->shape[n - 1];
    c->outs[0] = kg_tensor_contiguous(q->dtype, n, c->outs[0].shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view q, k, v;
    kg_rung rung;
    double scale;
    bool causal;
    kg_view row, keys;  // of the present block: (E) and (E, S)
    kg_term *weight, *column;
} heads;

// One of the matrices of a batch.
static kg_view matrix_of(const kg_view *x, int64_t batch) {
    const int n = x->desc.ndim;
    const int64_t size = x->desc.shape[n - 2] * x->desc.shape[n - 1];
    kg_view m = *x;
    m.desc.ndim = 2;
    for (int d = 0; d < 2; d++)
        m.desc.shape[d] = x->desc.shape[n - 2 + d], m.desc.stride[d] = x->desc.stride[n - 2 + d];
    m.data = (const char *)x->data + kg_offset(&x->desc, batch * size) * (int64_t)kg_dtype_size(x->desc.dtype);
    return m;
}

static int scores(kg_ref *ref, void *ctx) {
    const heads *h = ctx;
    kg_tensor out;
    if (kg_matmul_shape(&h->row.desc, &h->keys.desc, &out)) return -1;
    kg_matmul_ref(&h->row, &h->keys, &out, ref);
    return 0;
}

static int row_of(int64_t block, kg_stage *s, void *ctx) {
    heads *h = ctx;
    const kg_rung *r = &h->rung;
    const int64_t rows = h->q.desc.shape[h->q.desc.ndim - 2], batch = block / rows, row = block % rows;
    const kg_view queries = matrix_of(&h->q, batch), keys = matrix_of(&h->k, batch), values = matrix_of(&h->v, batch);
    h->row = queries;
    h->row.desc.ndim = 1;
    h->row.desc.shape[0] = queries.desc.shape[1], h->row.desc.stride[0] = queries.desc.stride[1];
    h->row.data =
        (const char *)queries.data + row * queries.desc.stride[0] * (int64_t)kg_dtype_size(queries.desc.dtype);
    h->keys = kg_turned(&keys);
    kg_stage weights = {h->causal ? row + 1 : keys.desc.shape[0], h->weight}, column = {weights.n, h->column};
    if (kg_stage_from(&weights, 0, 1, scores, h)) return -1;
    const kg_term scale = kg_term_number(r, h->scale);
    for (int64_t i = 0; i < weights.n; i++) weights.at[i] = kg_term_stored(r, kg_term_mul(r, weights.at[i], scale));
    kg_stage_softmax(r, &weights);
    kg_stage_stored(r, &weights);
    for (int64_t j = 0; j < s->n; j++) {
        for (int64_t i = 0; i < weights.n; i++) column.at[i] = kg_term_exact(kg_at(&values, i * s->n + j));
        s->at[j] = kg_stage_dot(r, &weights, &column);
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    heads h = {.q = kg_call_view(call, "q"),
               .k = kg_call_view(call, "k"),
               .v = kg_call_view(call, "v"),
               .rung = kg_rung_of(call->task, call->c->outs[0].dtype),
               .causal = call->c->args[CAUSAL].i};
    const kg_arg *scale = &call->c->args[SCALE];
    const int n = h.q.desc.ndim;
    const int64_t keys = h.k.desc.shape[n - 2];
    h.scale = scale->none || scale->absent ? 1 / sqrt((double)h.q.desc.shape[n - 1]) : scale->f;
    h.weight = malloc(2 * (size_t)keys * sizeof *h.weight + 1);
    if (!h.weight) return -1;
    h.column = h.weight + keys;
    const int rc = kg_stage_each(ref, h.v.desc.shape[n - 1], 1, row_of, &h);
    free(h.weight);
    return rc;
}

static double products(const kg_case *c) {
    const kg_tensor *q = &c->args[Q].tensor, *v = &c->args[V].tensor;
    const int n = q->ndim;
    return (double)v->shape[n - 2] * (double)(q->shape[n - 1] + v->shape[n - 1]);
}

// A causal row sees half of the keys on average.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double rows =
        (double)kg_numel(&c->args[Q].tensor) / fmax(1, (double)c->args[Q].tensor.shape[c->args[Q].tensor.ndim - 1]);
    const double share = c->args[CAUSAL].i ? 0.5 : 1;
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_product_unit(c->outs[0].dtype)] += 2 * rows * products(c) * share;
    w->ops[KG_U_SPECIAL] += rows * (double)c->args[K].tensor.shape[c->args[K].tensor.ndim - 2] * share;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 2 * products(c));
}

const kg_task kg_task_kbx_attention = {
    .name = "attention",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "attention(q, k, v, causal: bool = False, softmax_scale=None, *, out=None) -> Tensor",
    .summary = "Rows of v, averaged with the softmax of the scaled products of q's rows with k's.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda q, k, v, causal=False, softmax_scale=None, *, out=None: (lambda y: y if out is None else "
        "out.copy_(y))(F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=softmax_scale))",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, -1) : 0",
    .c_body =
        "// Item i is a row, eight columns at a time, with the scores twice: for the largest, and for the sums.\n"
        "const int64_t keys = kg_dim(k, -2), e = kg_dim(q, -1), f = kg_dim(v, -1);\n"
        "const int64_t rows = kg_dim(q, -2), first = i / rows * keys;\n"
        "const double scale = softmax_scale ? *softmax_scale : 1.0 / sqrt((double)e);\n"
        "const int64_t seen = causal ? i % rows + 1 : keys;\n"
        "for (int64_t from = 0; from < f; from += 8) {\n"
        "    const int64_t to = from + 8 < f ? from + 8 : f;\n"
        "    double largest = 0, sum = 0, y[8] = {0, 0, 0, 0, 0, 0, 0, 0};\n"
        "    for (int pass = 0; pass < 2; pass++)\n"
        "        for (int64_t s = 0; s < seen; s++) {\n"
        "            double score = 0;\n"
        "            for (int64_t x = 0; x < e; x++) score += kg_get(q, i * e + x) * kg_get(k, (first + s) * e + x);\n"
        "            score *= scale;\n"
        "            if (pass == 0) {\n"
        "                largest = s == 0 || score > largest ? score : largest;\n"
        "                continue;\n"
        "            }\n"
        "            sum += exp(score - largest);\n"
        "            for (int64_t j = from; j < to; j++)\n"
        "                y[j - from] += exp(score - largest) * kg_get(v, (first + s) * f + j);\n"
        "        }\n"
        "    for (int64_t j = from; j < to; j++) kg_put(out, i * f + j, y[j - from] / sum);\n"
        "}\n",
};
