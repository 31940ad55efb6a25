// fused_transformer_block(input, weight1, weight2, residual, dropout_p=0.1, eps=1e-5, *, out=None) -> Tensor
//
// layer_norm(dropout(softmax(input @ weight1), dropout_p) @ weight2 + residual) of (*, N, D_in), (D_in, D_k) and
// (D_k, D_out), softmax and norm along the last dimension, the norm without weights. There is no `training`: dropout is
// always on. residual broadcasts to the product.
//
// The mask behind product and norm. A row y = (w - m) / s of unknown m and s, w = B' z + residual with B = weight2, and
// z the softmax's K terms, kept or dropped. In the correctness cases D_out >= 2 (K + 2): s is what best makes s y -
// residual a sum of B's rows and a constant, and least squares then give z, whose terms are many times larger than what
// tf32 or bfloat16 storage may err by. That mask's own result, with its error bound, must then be what the kernel gave,
// and the masks are tested as src/task/dropout.h says. With dropout_p 0 or 1 any shape is compared directly. In the
// timed sizes one w a row, of rows the judge chooses, must lie and spread as sums with terms dropped at random do
// (kg_hold_dropped_sums): m and s are fitted to the mean of w, by which that w is off by a part of about 1 /
// sqrt(D_out) of its deviation, for which 8 / sqrt(D_out) are allowed.
//
// Bounds: product, softmax, product, sum, layer norm (oracle/stages.h); in half precision every stage may be stored.
#include <stdlib.h>

#include "oracle/chance.h"
#include "task/bmm_dropout.h"

#define MOST_DECODED 128
#define MOST_ROWS    2048
#define BUDGET       2e8  // products in one check where rows are chosen
#define SIZE(x)      ((size_t)((x) > 0 ? (x) : 1))

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "weight1", .kind = KG_P_TENSOR},
                                  {.name = "weight2", .kind = KG_P_TENSOR},
                                  {.name = "residual", .kind = KG_P_TENSOR},
                                  KG_P_PARAM("dropout_p", 0.1),
                                  KG_P_PARAM("eps", 1e-5),
                                  KG_OUT_PARAM,
                                  KG_SEED_PARAM,
                                  {.name = NULL}};
enum { INPUT, WEIGHT1, WEIGHT2, RESIDUAL };

// ---- cases ----------------------------------------------------------------------------------------
// Logits of deviation 0.7, so that no softmax is many times smaller than another.
static kg_case *add(kg_cases *b, kg_tensor x, int64_t k, int64_t d_out) {
    kg_case *c = kg_case_add(b);
    const int64_t d_in = x.shape[x.ndim - 1];
    const double deviation = sqrt(0.7 / sqrt((double)(d_in > 0 ? d_in : 1)));
    kg_tensor out = x;
    out.shape[out.ndim - 1] = d_out;
    kg_set_strided(c, b->task, "input", x, KG_NORMAL(0, deviation));
    kg_set_tensor(c, b->task, "weight1", x.dtype, KG_SHAPE(d_in, k), KG_NORMAL(0, deviation));
    kg_set_tensor(c, b->task, "weight2", x.dtype, KG_SHAPE(k, d_out), KG_NORMAL(0, 2));
    kg_set_tensor(c, b->task, "residual", x.dtype, out.ndim, out.shape, KG_NORMAL(0.3, 1));
    return c;
}
static kg_case *of(kg_cases *b, kg_dtype t, int64_t batch, int64_t n, int64_t d_in, int64_t k, int64_t d_out) {
    return add(b, kg_tensor_contiguous(t, KG_SHAPE(batch, n, d_in)), k, d_out);
}
static kg_case *plain(kg_cases *b) { return of(b, KG_F32, 3, 65, 20, 17, 45); }
static kg_case *with_p(kg_cases *b, kg_case *c, double p) {
    kg_set_float(c, b->task, "dropout_p", p);
    return c;
}
static void residual(kg_cases *b, int ndim, const int64_t *shape) {
    kg_set_tensor(plain(b), b->task, "residual", KG_F32, ndim, shape, KG_NORMAL(0.3, 1));
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    static const double p[] = {0, 0.5, 0.25, 0.8, 1};
    const kg_dtype t = KG_F32;
    plain(b);
    of(b, t, 1, 257, 33, 9, 40);
    of(b, t, 2, 65, 129, 33, 80);
    of(b, t, 0, 5, 4, 3, 7);
    of(b, t, 2, 0, 4, 3, 7);
    of(b, t, 2, 3, 4, 3, 0);
    of(b, t, 2, 3, 1, 1, 9);
    with_p(b, of(b, t, 2, 17, 33, 129, 31), 0);
    with_p(b, of(b, t, 2, 5, 257, 40, 255), 0);
    with_p(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(129, 20)), 17, 45), 0.3);       // no batch dimension
    with_p(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 33, 20)), 17, 45), 0.3);  // two of them
    add(b, kg_tensor_transposed(t, KG_SHAPE(3, 65, 20), 1, 2), 17, 45);
    kg_case *c = plain(b);
    kg_set_strided(c, b->task, "weight1", kg_tensor_transposed(t, KG_SHAPE(20, 17), 0, 1), KG_NORMAL(0, 0.4));
    kg_set_strided(c, b->task, "weight2", kg_tensor_stepped(t, KG_SHAPE(17, 45), 2), KG_NORMAL(0, 2));
    residual(b, KG_SHAPE(45));
    residual(b, KG_SHAPE(65, 45));
    residual(b, KG_SHAPE(3, 1, 45));
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) with_p(b, plain(b), p[i]);
    kg_set_float(plain(b), b->task, "eps", 0.5);
    kg_set_float(with_p(b, plain(b), 0), b->task, "eps", 0.5);
    // Exponentials that overflow without the largest taken off.
    with_p(b, plain(b), 0)->args[INPUT].fill = KG_NORMAL(0, 60);
    with_p(b, plain(b), 0)->args[INPUT].fill = KG_LARGE_LOGITS;
    with_p(b, of(b, t, 1, 65, 5, 3, 17), 0)->args[INPUT].fill = KG_LARGE_LOGITS;
    c = with_p(b, of(b, t, 1, 65, 5, 3, 17), 0);  // below any number that stands for -infinity
    c->args[INPUT].fill = KG_NORMAL(-1e33, 1e31), c->args[WEIGHT1].fill = KG_NORMAL(1, 0.1);
    with_p(b, of(b, t, 1, 3, 4099, 3, 5), 0);
    with_p(b, of(b, t, 1, 2, 3, 4099, 5), 0);
    with_p(b, of(b, t, 1, 9, 3, 4099, 5), 0)->args[INPUT].fill = KG_LARGE_LOGITS;
    with_p(b, of(b, t, 1, 2, 3, 5, 4099), 0);
    c = plain(b);  // the same values in both calls, but for weight2 and residual
    c->args[INPUT].fill = c->args[WEIGHT1].fill = (kg_fill){KG_FILL_CONST, 0.5, 0};
    with_p(b, plain(b), 0)->args[RESIDUAL].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_set_tensor(plain(b), b->task, "out", t, KG_SHAPE(3, 65, 45), KG_FACTORS);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        with_p(b, of(b, others[i], 2, 65, 20, 17, 45), 0.3);
        with_p(b, of(b, others[i], 2, 9, 33, 65, 31), 0);
    }
}

static int cases(kg_cases *b) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_QUICK) return 0;
        of(b, KG_F32, 5, 65, 40, 65, 160);
        with_p(b, of(b, KG_F32, 2, 33, 100, 300, 200), 0);
        with_p(b, of(b, KG_F16, 1, 16, 64, 1025, 129), 0);
        return 0;
    }
    for (int64_t d = cuda ? 256 : 64; d <= (cuda ? 4096 : 256); d *= 2) of(b, KG_F32, cuda ? 8 : 2, 128, d, 4 * d, d);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[INPUT].tensor, *a = &c->args[WEIGHT1].tensor, *w = &c->args[WEIGHT2].tensor;
    kg_tensor z, both;
    if (x->ndim < 2 || a->ndim != 2 || w->ndim != 2 || a->dtype != x->dtype || w->dtype != x->dtype) return -1;
    c->n_outs = 1;
    if (kg_matmul_shape(x, a, &z) || kg_matmul_shape(&z, w, &c->outs[0])) return -1;
    if (kg_broadcast(&c->args[RESIDUAL].tensor, &c->outs[0], &both)) return -1;
    return kg_numel(&both) == kg_numel(&c->outs[0]) && c->args[RESIDUAL].tensor.dtype == x->dtype ? 0 : -1;
}

// ---- one row ----------------------------------------------------------------------------------------
typedef struct {
    const kg_call *call;
    const kg_answer *a;
    kg_holds *h;
    kg_rung r;
    kg_tensor z;  // (*, N, K)
    kg_view w, residual, out;
    int64_t rows, k, p;
    double chance, eps;
    kg_stage soft, kept, factors;  // K each
    kg_stage y;                    // P
} block;

static int product(kg_ref *ref, void *ctx) {
    const block *v = ctx;
    kg_matmul_ref(&v->call->args[INPUT], &v->call->args[WEIGHT1], &v->z, ref);
    return 0;
}

static int load_row(block *v, int64_t row) {
    if (kg_stage_from(&v->soft, row * v->k, 1, product, v)) return -1;
    kg_stage_stored(&v->r, &v->soft);
    kg_stage_softmax(&v->r, &v->soft);
    kg_stage_stored(&v->r, &v->soft);
    for (int64_t k = 0; k < v->k; k++)
        v->kept.at[k] =
            v->chance < 1 ? kg_term_stored(&v->r, kg_dropout_kept(&v->r, v->soft.at[k], v->chance)) : kg_term_exact(0);
    return 0;
}

static double factor(const block *v, int64_t k, int64_t p) {
    return kg_at_offset(&v->w, k * v->w.desc.stride[0] + p * v->w.desc.stride[1]);
}
static double answer(const block *v, int64_t row, int64_t p) { return kg_at(&v->out, row * v->p + p); }
static double added(const block *v, int64_t row, int64_t p) { return kg_at(&v->residual, row * v->p + p); }

// w of a row with these terms, in v->y.
static void sums_of(block *v, const kg_stage *terms, int64_t row) {
    for (int64_t p = 0; p < v->p; p++) {
        for (int64_t k = 0; k < v->k; k++) v->factors.at[k] = kg_term_input(&v->r, factor(v, k, p));
        const kg_term z = kg_term_stored(&v->r, kg_stage_dot(&v->r, terms, &v->factors));
        v->y.at[p] = kg_term_stored(&v->r, kg_term_add(&v->r, z, kg_term_input(&v->r, added(v, row, p))));
    }
}

static void hold_row(block *v, const kg_stage *terms, int64_t row, const char *how) {
    const kg_dtype t = v->out.desc.dtype;
    sums_of(v, terms, row);
    kg_stage_layer_norm(&v->r, &v->y, v->eps, NULL, NULL);
    for (int64_t p = 0; p < v->p; p++) {
        kg_term y = v->y.at[p];
        if (!isfinite(y.value)) y.local = y.acc = 0;
        kg_hold(v->h, t, answer(v, row, p), y.value, y.local + fabs(y.value), y.acc, "out[%lld] of row %lld%s",
                (long long)p, (long long)row, how);
    }
}

// ---- decoded ------------------------------------------------------------------------------------------
// Coefficients of weight2's rows, and of a constant, in s y - residual: u and v are those of y and residual.
static void decode_row(const block *v, const kg_decoder *d, int64_t row, double *space, double *z) {
    double *y = space, *rest_y = y + v->p, *r = rest_y + v->p, *rest_r = r + v->p, *u = rest_r + v->p;
    double both = 0, square = 0;
    for (int64_t p = 0; p < v->p; p++) y[p] = answer(v, row, p), r[p] = added(v, row, p);
    kg_decode(d, y, u, rest_y);
    kg_decode(d, r, z, rest_r);
    for (int64_t p = 0; p < v->p; p++) both += rest_y[p] * rest_r[p], square += rest_y[p] * rest_y[p];
    for (int64_t k = 0; k < v->k; k++) z[k] = both / square * u[k] - z[k];
}

static int decode(block *v) {
    const int64_t n = v->rows * v->k;
    signed char *mask = malloc(SIZE(n));
    double *space = malloc(SIZE((v->k + 1) * (v->p + 2) + 4 * v->p) * sizeof *space);
    kg_term *masked = malloc(SIZE(v->k) * sizeof *masked);
    int rc = mask && space && masked ? 0 : -1;
    double *z = space + (v->k + 1) * v->p, *rest = z + v->k + 1;
    for (int64_t i = 0; i < (v->k + 1) * v->p && !rc; i++)
        space[i] = i < v->k * v->p ? factor(v, i / v->p, i % v->p) : 1;
    kg_decoder *d = rc ? NULL : kg_decoder_make(space, v->k + 1, v->p);
    for (int64_t row = 0; row < v->rows && !rc; row++) {
        rc = load_row(v, row);
        if (d) decode_row(v, d, row, rest, z);
        for (int64_t k = 0; k < v->k; k++) {
            const double kept = v->kept.at[k].value;
            const bool tells = d && kept > 0 && isfinite(z[k]), is_kept = tells && fabs(z[k] - kept) < fabs(z[k]);
            mask[row * v->k + k] = tells ? is_kept : -1;
            masked[k] = is_kept || !tells ? v->kept.at[k] : kg_term_exact(0);
        }
        hold_row(v, &(kg_stage){v->k, masked}, row, ", with the terms kept that come nearest,");
    }
    if (!rc) rc = kg_mask_holds(v->h, v->a, mask, (size_t)n, v->chance);
    kg_decoder_free(d);
    free(mask);
    free(space);
    free(masked);
    return rc;
}

// ---- not decoded ----------------------------------------------------------------------------------------
static uint64_t draw(const block *v, uint64_t i) {
    const kg_philox r = kg_philox4x32(v->a->seed, i, 4);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

static int64_t rows_afforded(const block *v) {
    const double cost = (double)v->k * (double)(v->p + v->call->args[INPUT].desc.shape[v->z.ndim - 1]) + 1;
    const double afford = fmin(MOST_ROWS, fmax(8, BUDGET / cost));
    return v->a->full || (double)v->rows <= afford ? v->rows : (int64_t)afford;
}

static int64_t chosen_row(const block *v, int64_t i, int64_t afford) {
    const int64_t apart = v->rows / afford;
    return apart <= 1 ? i : i * apart + (int64_t)(draw(v, (uint64_t)i) % (uint64_t)apart);
}

static int compare_rows(block *v) {
    const int64_t afford = rows_afforded(v);
    int rc = 0;
    for (int64_t i = 0; i < afford && !rc; i++) {
        const int64_t row = chosen_row(v, i, afford);
        rc = load_row(v, row);
        if (!rc) hold_row(v, v->chance < 1 ? &v->soft : &v->kept, row, "");
    }
    return rc;
}

// m and s with the least squares of m + s y - (mean of w); what w is then in column `at`, and (w - m) / s.
static double fitted(const block *v, int64_t row, int64_t at, double *standard) {
    double y = 0, w = 0, yy = 0, yw = 0;
    for (int64_t p = 0; p < v->p; p++) y += answer(v, row, p), w += v->y.at[p].value;
    y /= (double)v->p, w /= (double)v->p;
    for (int64_t p = 0; p < v->p; p++) {
        const double d = answer(v, row, p) - y;
        yy += d * d, yw += d * (v->y.at[p].value - w);
    }
    *standard = (answer(v, row, at) - y) * sqrt((double)v->p / yy);
    return w + yw / yy * (answer(v, row, at) - y);
}

static int spread(block *v) {
    const int64_t n = rows_afforded(v);
    double *found = malloc(SIZE(2 * n + v->k) * sizeof *found), *a = found + 2 * n;
    kg_dropped_sum *expected = malloc(SIZE(n) * sizeof *expected);
    int rc = found && expected ? 0 : -1;
    for (int64_t i = 0; i < n && !rc; i++) {
        const int64_t row = chosen_row(v, i, n), at = (int64_t)(draw(v, (uint64_t)(n + i)) % (uint64_t)v->p);
        rc = load_row(v, row);
        if (rc) break;
        sums_of(v, &v->soft, row);  // the mean of w
        for (int64_t k = 0; k < v->k; k++) a[k] = v->soft.at[k].value * factor(v, k, at);
        expected[i] = kg_dropped_sum_of(a, v->k, v->chance);
        double standard;
        found[i] = fitted(v, row, at, &standard) - added(v, row, at);
        const double apart = 8 * sqrt(expected[i].proxy / (double)v->p) * (1 + fabs(standard));
        found[n + i] = apart + 2 * kg_term_error(&v->r, v->y.at[at]);
    }
    if (!rc) kg_hold_dropped_sums(v->h, found, found + n, expected, (size_t)n, "what the norm was taken of");
    free(found);
    free(expected);
    return rc;
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    block v = {.call = call, .a = a, .h = h, .w = call->args[WEIGHT2], .out = a->out[0]};
    kg_matmul_shape(&call->args[INPUT].desc, &call->args[WEIGHT1].desc, &v.z);
    v.residual = kg_view_expand(&call->args[RESIDUAL], out);
    v.r = kg_rung_of(call->task, out->dtype);
    v.k = v.w.desc.shape[0], v.p = v.w.desc.shape[1];
    v.rows = v.p > 0 ? kg_numel(out) / v.p : 0;
    v.chance = kg_call_arg(call, "dropout_p")->f, v.eps = kg_call_arg(call, "eps")->f;
    kg_stage *all[] = {&v.soft, &v.kept, &v.factors, &v.y};
    int rc = 0;
    for (int i = 0; i < 4; i++) {
        *all[i] = (kg_stage){i < 3 ? v.k : v.p, malloc(SIZE(i < 3 ? v.k : v.p) * sizeof(kg_term))};
        if (!all[i]->at) rc = -1;
    }
    const bool sure = v.chance <= 0 || v.chance >= 1;
    if (!rc && v.rows > 0)
        rc = sure ? compare_rows(&v) : v.k <= MOST_DECODED && v.p >= 2 * (v.k + 2) ? decode(&v) : spread(&v);
    for (int i = 0; i < 4; i++) free(all[i]->at);
    return rc;
}

static double per_row(const kg_case *c) {
    const int64_t *a = c->args[WEIGHT1].tensor.shape, *w = c->args[WEIGHT2].tensor.shape;
    return (double)w[0] * (double)(a[0] + w[1]);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const int64_t p = c->args[WEIGHT2].tensor.shape[1];
    const int64_t lines = p > 0 ? kg_numel(&c->outs[0]) / p : 0;
    const double rows = (double)lines;
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * rows * per_row(c);
    w->ops[KG_U_SPECIAL] = rows * (double)c->args[WEIGHT2].tensor.shape[0];
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * per_row(c) + 1;
}

const kg_task kg_task_kbx_fused_transformer_block = {
    .name = "fused_transformer_block",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_transformer_block(input, weight1, weight2, residual, dropout_p=0.1, eps=1e-5, *, out=None) -> Tensor",
    .summary = "softmax of a product, dropout, a second product, plus a residual, layer norm without weights.",
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
        "lambda input, weight1, weight2, residual, dropout_p=0.1, eps=1e-5, out=None: (lambda y: y if out is None else "
        "out.copy_(y))((lambda w: F.layer_norm(w, w.shape[-1:], eps=eps))(torch.matmul(F.dropout(F.softmax("
        "torch.matmul(input, weight1), -1), dropout_p), weight2) + residual))",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, -1) : 0",
    .c_body =
        "// Item i is a row, whose sums are made three times: for the mean, the variance, the result.\n"
        "const int64_t d_in = kg_dim(weight1, 0), terms = kg_dim(weight1, 1), columns = kg_dim(weight2, 1);\n"
        "const double q = 1.0 - dropout_p;\n"
        "double largest = 0, total = 0, mean = 0, variance = 0;\n"
        "for (int64_t turn = 0; turn < 2; turn++)\n"
        "    for (int64_t k = 0; k < terms; k++) {\n"
        "        double z = 0;\n"
        "        for (int64_t d = 0; d < d_in; d++) z += kg_get(input, i * d_in + d) * kg_get(weight1, d * terms + k);\n"
        "        if (turn == 0) largest = k == 0 || z > largest || z != z ? z : largest;\n"
        "        else total += exp(z - largest);\n"
        "    }\n"
        "double sum[64];  // of as many columns at a time\n"
        "for (int64_t turn = 0; turn < 3; turn++)\n"
        "    for (int64_t c = 0; c < columns; c++) {\n"
        "        const int64_t many = columns - c < 64 ? columns - c : 64;\n"
        "        for (int64_t l = 0; l < many && c % 64 == 0; l++) sum[l] = 0;\n"
        "        for (int64_t k = 0; k < terms && c % 64 == 0; k++) {\n"
        "            if (kg_uniform(seed, i * terms + k) < dropout_p) continue;\n"
        "            double z = 0;\n"
        "            for (int64_t d = 0; d < d_in; d++) z += kg_get(input, i * d_in + d) * kg_get(weight1, d * terms + k);\n"
        "            z = exp(z - largest) / total / q;\n"
        "            for (int64_t l = 0; l < many; l++) sum[l] += z * kg_get(weight2, k * columns + c + l);\n"
        "        }\n"
        "        const double w = sum[c % 64] + kg_get_broadcast(residual, out, i * columns + c);\n"
        "        if (turn == 0) mean += w / (double)columns;\n"
        "        else if (turn == 1) variance += (w - mean) * (w - mean) / (double)columns;\n"
        "        else kg_put(out, i * columns + c, (w - mean) / sqrt(variance + eps));\n"
        "    }\n",
};
