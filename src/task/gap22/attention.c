// attention(q, k, v, scale=None) -> Tensor
//
// Causal linear attention, which kernels compute in chunks: out[t] = scale * sum over s <= t of (q[t] . k[s]) v[s]. No
// softmax, no normaliser. q, k (..., T, D), v (..., T, E), out (..., T, E). scale None: 1 / sqrt(D).
//
// Bounds. Kernels multiply in two orders, (q k') v and q (k' v), and chunked ones in both. So the bound has what
// rounding each input, w_s = q . k_s and the state S_e = sum_s k_se v_s may do, and the errors of summing in either
// order; in half precision w or S is rounded, and partial results of chunks are stored.
#include <stdlib.h>

#include "task/updates.h"

static const kg_param params[] = {
    {.name = "q", .kind = KG_P_TENSOR},
    {.name = "k", .kind = KG_P_TENSOR},
    {.name = "v", .kind = KG_P_TENSOR},
    {.name = "scale", .kind = KG_P_FLOAT, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { Q, K, V, SCALE };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor q, int64_t width) {
    kg_case *c = kg_case_add(b);
    kg_tensor v = q;
    v.shape[v.ndim - 1] = width;
    kg_set_strided(c, b->task, "q", q, KG_FACTORS);
    kg_set_strided(c, b->task, "k", q, KG_FACTORS);
    kg_set_tensor(c, b->task, "v", q.dtype, v.ndim, v.shape, KG_NORMAL(0.25, 1));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(2, 3, 5, 4), 4);
    add(b, DENSE(1, 1, 1, 1), 1);
    add(b, DENSE(3, 4), 4);
    add(b, DENSE(2, 9, 8), 8);
    add(b, DENSE(0, 2, 5, 4), 4);
    add(b, DENSE(1, 2, 0, 4), 4);
    add(b, DENSE(1, 2, 65, 16), 16);   // past a chunk of 64
    add(b, DENSE(2, 1, 130, 33), 33);  // past two
    add(b, DENSE(1, 2, 17, 8), 5);     // another width of v
    kg_set_float(add(b, DENSE(1, 2, 17, 8), 8), b->task, "scale", 1);
    kg_set_float(add(b, DENSE(1, 2, 17, 8), 8), b->task, "scale", -0.3);
    kg_set_float(add(b, DENSE(1, 2, 17, 8), 8), b->task, "scale", 0);
    add(b, DENSE(1, 1, 130, 96), 128);  // as wide as the published sizes, past two chunks
    add(b, DENSE(1, 1, 300, 8), 8);     // past two of 128
    add(b, DENSE(2, 2, 3, 9, 4), 4);
    add(b, DENSE(1, 1, 9, 128), 128);
    add(b, DENSE(1, 1, 3, 4099), 2);
    add(b, DENSE(1, 1, 3, 2), 4099);
    add(b, DENSE(2, 700, 3, 2), 2);
    add(b, DENSE(1, 2, 5, 4), 4)->args[Q].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, DENSE(1, 2, 5, 4), 4)->args[V].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, kg_tensor_transposed(t, KG_SHAPE(2, 17, 3, 8), 1, 2), 8);  // heads after time in memory
    add(b, kg_tensor_stepped(t, KG_SHAPE(2, 17, 8), 3), 8);
    add(b, DENSE(1, 2, 33, 16), 16)->args[K].fill = KG_OUTLIERS(0, 1);
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(1, 2, 33, 16), 16);
        add(b, DENSE(2, 70, 32), 32);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    for (int64_t n = 2; n <= 512; n *= 4) add(b, DENSE(1, 2, n, 16), 16);
    add(b, DENSE(1, 1, 1025, 8), 8);
    add(b, DENSE(2, 2, 2, 2, 9, 8), 8);
    add(b, kg_tensor_expanded(t, KG_SHAPE(2, 3, 17, 8), 1), 8);
    add(b, DENSE(1, 1, 100, 64), 64)->args[V].fill = KG_NORMAL(100, 1);
}

static int cases(kg_cases *b) {
    const kg_dtype t = KG_F32;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    if (b->level == KG_TIMED_CUDA) {  // the published sizes: data/gap22_published.csv
        add(b, DENSE(8, 16, 512, 64), 64);
        add(b, DENSE(8, 32, 2048, 128), 128);
    } else
        for (int64_t n = 64; n <= 512; n *= 2) add(b, DENSE(1, 8, n, 64), 64);
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *q = &c->args[Q].tensor, *k = &c->args[K].tensor, *v = &c->args[V].tensor;
    if (q->ndim < 2 || k->ndim != q->ndim || v->ndim != q->ndim || k->dtype != q->dtype || v->dtype != q->dtype)
        return -1;
    if (!kg_dtype_is_float(q->dtype) || k->shape[k->ndim - 1] != q->shape[q->ndim - 1]) return -1;
    for (int d = 0; d < q->ndim - 1; d++)
        if (k->shape[d] != q->shape[d] || v->shape[d] != q->shape[d]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(v->dtype, v->ndim, v->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
// One head: matrices of T rows; and space for a row's w and an output's S with their errors.
typedef struct {
    kg_view q, k, v;
    int64_t steps, depth;
    int64_t *index;
    double *w, *w_acc, *s, *s_acc, *q_row, *v_line, *unused;
} head;

// The last two dimensions at number `batch` of the others.
static kg_view matrix_of(const kg_view *all, int64_t batch) {
    kg_view r = *all;
    const int n = all->desc.ndim - 2;
    int64_t at = 0;
    for (int d = n - 1; d >= 0; d--) {
        at += batch % all->desc.shape[d] * all->desc.stride[d];
        batch /= all->desc.shape[d];
    }
    r.data = (const char *)all->data + (size_t)at * kg_dtype_size(all->desc.dtype);
    r.desc.ndim = 2;
    for (int i = 0; i < 2; i++) {
        r.desc.shape[i] = all->desc.shape[n + i];
        r.desc.stride[i] = all->desc.stride[n + i];
    }
    return r;
}

// The first row of a times the first `n` columns of b; value and acc.
static void row_times(const head *h, const kg_view *a, const kg_view *b, int64_t n, double *value, double *acc) {
    const kg_tensor out = kg_tensor_contiguous(a->desc.dtype, KG_SHAPE(1, n));
    kg_ref ref = {0, (size_t)n, h->index, value, h->unused, acc};
    kg_matmul_ref(a, b, &out, &ref);
}

// w_s = q[t] . k[s] for s <= t.
static void weigh(head *h, int64_t t) {
    kg_view row = h->q, keys = kg_turned(&h->k);
    row.data = (const char *)h->q.data + (size_t)(t * h->q.desc.stride[0]) * kg_dtype_size(h->q.desc.dtype);
    row.desc.shape[0] = 1;
    keys.desc.shape[1] = t + 1;
    row_times(h, &row, &keys, t + 1, h->w, h->w_acc);
    kg_load_line(&row, 0, row.desc.stride[1], h->depth, h->q_row, 1);
}

// S_e = sum over s <= t of v[s][column] k[s][e].
static void accumulate(head *h, int64_t t, int64_t column) {
    kg_view line = kg_turned(&h->v), keys = h->k;
    line.data = (const char *)h->v.data + (size_t)(column * h->v.desc.stride[1]) * kg_dtype_size(h->v.desc.dtype);
    line.desc.shape[0] = 1;
    line.desc.shape[1] = keys.desc.shape[0] = t + 1;
    row_times(h, &line, &keys, h->depth, h->s, h->s_acc);
    kg_load_line(&h->v, column * h->v.desc.stride[1], h->v.desc.stride[0], t + 1, h->v_line, 1);
}

static void element(head *h, int64_t t, double scale, bool half, kg_ref *ref, size_t at) {
    kg_sum_t by_w = {0}, by_s = {0};
    double most = 0, acc2 = 0, q0 = 0;
    for (int64_t s = 0; s <= t; s++) {
        kg_dot_add(&by_w, h->w[s], h->v_line[s]);
        most = fmax(most, fabs(kg_sum_value(&by_w)));
        acc2 += h->w_acc[s] * h->w_acc[s] * h->v_line[s] * h->v_line[s];
    }
    for (int64_t e = 0; e < h->depth; e++) {
        kg_dot_add(&by_s, h->q_row[e], h->s[e]);
        acc2 += h->s_acc[e] * h->s_acc[e] * h->q_row[e] * h->q_row[e];
    }
    for (int64_t s = 0; s <= t && !half; s++) {
        const int64_t row = s * h->k.desc.stride[0];
        for (int64_t e = 0; e < h->depth; e++) {
            const double term = h->q_row[e] * kg_at_offset(&h->k, row + e * h->k.desc.stride[1]) * h->v_line[s];
            q0 += term * term;
        }
    }
    const double inner = sqrt(by_w.square) + sqrt(by_s.square), value = kg_sum_value(&by_w);
    const double local = half ? 4 * inner + 2 * most : 4 * (2 * inner + sqrt(q0)) + 2 * (by_w.largest + by_s.largest);
    const double path = (double)(t + 1) * most / 8;  // matrix units truncate (src/oracle/product.c)
    ref->value[at] = scale * value;
    ref->local[at] = fabs(scale) * (local + 8 * fabs(value));
    ref->acc[at] = fabs(scale) * (kg_sum_acc(&by_w) + kg_sum_acc(&by_s) + 2 * sqrt(acc2) + path);
}

static int make(head *h) {
    const size_t most = (size_t)(h->steps > h->depth ? h->steps : h->depth) + 1;
    double *space = malloc(7 * most * sizeof *space);
    h->index = malloc(most * sizeof *h->index);
    if (!space || !h->index) {
        free(space);
        free(h->index);
        return -1;
    }
    double **const parts[] = {&h->w, &h->w_acc, &h->s, &h->s_acc, &h->q_row, &h->v_line, &h->unused};
    for (size_t i = 0; i < 7; i++) *parts[i] = space + i * most;
    for (size_t i = 0; i < most; i++) h->index[i] = (int64_t)i;
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view q = kg_call_view(call, "q"), k = kg_call_view(call, "k"), v = kg_call_view(call, "v");
    const int64_t steps = q.desc.shape[q.desc.ndim - 2], depth = q.desc.shape[q.desc.ndim - 1];
    const int64_t width = v.desc.shape[v.desc.ndim - 1];
    const double scale = call->c->args[SCALE].none ? 1 / sqrt((double)depth) : call->c->args[SCALE].f;
    const bool half = q.desc.dtype == KG_F16 || q.desc.dtype == KG_BF16;
    head h = {.steps = steps, .depth = depth};
    if (make(&h)) return -1;
    int64_t row = -1;
    for (size_t i = 0; i < ref->n; i++) {
        const int64_t here = ref->index[i] / width, t = here % steps;
        if (here != row) {
            row = here;
            h.q = matrix_of(&q, row / steps), h.k = matrix_of(&k, row / steps), h.v = matrix_of(&v, row / steps);
            weigh(&h, t);
        }
        accumulate(&h, t, ref->index[i] % width);
        element(&h, t, scale, half, ref, i);
    }
    free(h.w);
    free(h.index);
    return 0;
}

// The fewest operations: a state of depth x width, updated and read at every step.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *v = &c->args[V].tensor, *q = &c->args[Q].tensor;
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(v->dtype)] = 4 * (double)kg_numel(v) * (double)q->shape[q->ndim - 1];
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *q = &c->args[Q].tensor;
    return fmax(1, 4 * (double)q->shape[q->ndim - 2] * (double)q->shape[q->ndim - 1]);
}

const kg_task kg_task_gap22_attention = {
    .name = "attention",
    .suite = "gap22",
    .category = "Attention",
    .signature = "attention(q, k, v, scale=None) -> Tensor",
    .summary = "Causal linear attention: scale * sum over s <= t of (q[t] . k[s]) v[s]; scale None is 1 / sqrt(depth).",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda q, k, v, scale=None: ((q @ k.transpose(-1, -2)).tril() * (q.shape[-1] ** -0.5 if scale is None else "
        "scale)) @ v",
    .c_body =
        "const int64_t steps = kg_dim(q, -2), depth = kg_dim(q, -1), width = kg_dim(v, -1);\n"
        "const int64_t head = i / (steps * width), t = i / width % steps, column = i % width;\n"
        "double sum = 0;\n"
        "for (int64_t s = 0; s <= t; s++) {\n"
        "    double w = 0;\n"
        "    for (int64_t e = 0; e < depth; e++)\n"
        "        w += kg_get(q, (head * steps + t) * depth + e) * kg_get(k, (head * steps + s) * depth + e);\n"
        "    sum += w * kg_get(v, (head * steps + s) * width + column);\n"
        "}\n"
        "kg_put(out, i, sum * (scale ? *scale : 1.0 / sqrt((double)depth)));\n",
};
