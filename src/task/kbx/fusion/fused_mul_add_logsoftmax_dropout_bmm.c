// fused_mul_add_logsoftmax_dropout_bmm(input1, input2, other, mat2, p=0.5, training=True, inplace=False, dim=-1, *,
//                                      out=None) -> Tensor
//
// bmm(dropout(log_softmax(input1 * input2 + other, dim), p), mat2): the first three broadcast to (B, N, K), other may
// be a Number, mat2 is (B, K, P). inplace drops in an intermediate result's memory: it changes nothing.
//
// The mask behind the product. In the correctness cases P >= 2 K, so that a row's P sums tell which of its K terms were
// dropped: by least squares, in which terms are many times larger than what tf32 or bfloat16 storage may err by. That
// mask's own result, with the error bound of a product, must then be what the kernel gave; and the masks are tested as
// src/task/dropout.h says. With nothing random (p 0 or 1, not training) any K and P are compared directly. The timed
// sizes have P = K in hundreds: one sum a row of rows the judge chooses must lie, spread and follow each other as sums
// with terms dropped at random do (kg_hold_dropped_sums).
//
// Bounds: log-softmax of a product and a sum (oracle/stages.h), over 1 - p, as left factors of a product; in half
// precision every stage may be stored.
#include <stdlib.h>
#include <string.h>

#include "oracle/chance.h"
#include "task/bmm_dropout.h"

#define MOST_DECODED 128
#define PAIRS        1024  // of rows, whose sums are looked at where they cannot be decoded
#define BUDGET       4e7   // terms summed in one check
#define SIZE(x)      ((size_t)((x) > 0 ? (x) : 1))

static const kg_param params[] = {
    {.name = "input1", .kind = KG_P_TENSOR},
    {.name = "input2", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "mat2", .kind = KG_P_TENSOR},
    KG_P_PARAM("p", 0.5),
    KG_FLAG_PARAM("training", 1),
    KG_FLAG_PARAM("inplace", 0),
    {.name = "dim", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = -1},
    KG_OUT_PARAM,
    KG_SEED_PARAM,
    {.name = NULL}};
enum { INPUT1, INPUT2, OTHER, MAT2 };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor x, kg_tensor mat2) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input1", x, KG_NORMAL(0.2, 1));
    kg_set_strided(c, b->task, "input2", x, KG_NORMAL(0.2, 0.7));
    kg_set_strided(c, b->task, "other", x, KG_NORMAL(0, 0.5));
    kg_set_strided(c, b->task, "mat2", mat2, KG_NORMAL(0.1, 1));
    return c;
}
static kg_case *of(kg_cases *b, kg_dtype t, int64_t batch, int64_t n, int64_t k, int64_t p) {
    return add(b, kg_tensor_contiguous(t, KG_SHAPE(batch, n, k)), kg_tensor_contiguous(t, KG_SHAPE(batch, k, p)));
}
static kg_case *plain(kg_cases *b) { return of(b, KG_F32, 3, 65, 17, 40); }
static kg_case *still(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "training", false);
    return c;
}
static void other_of(kg_cases *b, kg_case *c, int ndim, const int64_t *shape) {
    kg_set_tensor(c, b->task, "other", KG_F32, ndim, shape, KG_NORMAL(0, 0.5));
}

static void arguments(kg_cases *b) {
    static const double p[] = {0, 0.1, 0.25, 0.75, 1};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) kg_set_float(plain(b), b->task, "p", p[i]);
    still(b, plain(b));
    kg_set_bool(plain(b), b->task, "inplace", true);
    for (int dim = -3; dim < 3; dim++) kg_set_int(dim % 2 ? plain(b) : still(b, plain(b)), b->task, "dim", dim);
    other_of(b, plain(b), KG_SHAPE(17));
    other_of(b, plain(b), KG_SHAPE(65, 1));
    other_of(b, still(b, plain(b)), KG_SHAPE(3, 1, 17));
    other_of(b, still(b, plain(b)), KG_SHAPE(17));
    kg_set_int(&b->items[b->n - 1], b->task, "dim", 1);
    other_of(b, still(b, plain(b)), KG_SHAPE(65, 1));
    kg_set_int(&b->items[b->n - 1], b->task, "dim", 0);
    kg_set_int(still(b, of(b, KG_F32, 1, 1031, 5, 3)), b->task, "dim", 1);
    kg_set_number(plain(b), b->task, "other", 1.5);
    kg_set_int(still(b, plain(b)), b->task, "dim", 1);
    kg_set_number(&b->items[b->n - 1], b->task, "other", -0.5);
    kg_set_tensor(still(b, plain(b)), b->task, "input2", KG_F32, KG_SHAPE(65, 17), KG_NORMAL(0.2, 0.7));
    kg_set_tensor(still(b, plain(b)), b->task, "input1", KG_F32, KG_SHAPE(65, 1), KG_NORMAL(0.2, 1));
    kg_set_tensor(plain(b), b->task, "out", KG_F32, KG_SHAPE(3, 65, 40), KG_FACTORS);
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    const kg_dtype t = KG_F32;
    of(b, t, 1, 1, 1, 1);
    of(b, t, 2, 3, 4, 9);
    of(b, t, 0, 3, 4, 9);
    of(b, t, 2, 0, 4, 9);
    of(b, t, 2, 3, 4, 0);
    of(b, t, 1, 257, 9, 20);
    of(b, t, 2, 65, 33, 80);
    still(b, of(b, t, 2, 17, 129, 31));
    still(b, of(b, t, 3, 5, 257, 1));
    add(b, kg_tensor_transposed(t, KG_SHAPE(3, 65, 17), 1, 2), kg_tensor_transposed(t, KG_SHAPE(3, 17, 40), 1, 2));
    add(b, kg_tensor_stepped(t, KG_SHAPE(3, 65, 17), 2), kg_tensor_expanded(t, KG_SHAPE(3, 17, 40), 0));
    arguments(b);
    // Exponentials that overflow without the largest taken off.
    still(b, plain(b))->args[OTHER].fill = KG_NORMAL(2000, 1);
    still(b, of(b, t, 2, 65, 3, 9))->args[OTHER].fill = KG_LARGE_LOGITS;
    still(b, of(b, t, 2, 65, 9, 9))->args[OTHER].fill = KG_LARGE_LOGITS;
    // Below any number that stands for -infinity.
    still(b, of(b, t, 2, 65, 3, 9))->args[OTHER].fill = KG_NORMAL(-1e33, 1e31);
    still(b, of(b, t, 1, 5, 8193, 2))->args[OTHER].fill = KG_LARGE_LOGITS;
    kg_case *c = plain(b);  // the same values in both calls, but for mat2
    c->args[INPUT1].fill = c->args[INPUT2].fill = c->args[OTHER].fill = (kg_fill){KG_FILL_CONST, 0.5, 0};
    plain(b)->args[MAT2].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    still(b, plain(b))->args[OTHER].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        of(b, others[i], 2, 65, 17, 40);
        still(b, of(b, others[i], 2, 9, 65, 33));
    }
}

static int cases(kg_cases *b) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_QUICK) return 0;
        of(b, KG_F32, 5, 33, 65, 160);
        still(b, of(b, KG_F32, 2, 100, 300, 200));
        kg_set_float(of(b, KG_F32, 2, 129, 20, 45), b->task, "p", 0.3);
        still(b, of(b, KG_F16, 1, 16, 1025, 33));
        return 0;
    }
    for (int64_t n = cuda ? 640 : 64; n <= (cuda ? 2432 : 256); n += cuda ? 128 : 64)
        of(b, KG_F32, cuda ? 32 : 4, n, n, n);
    return 0;
}

// The shape of what is dropped from, (B, N, K). -1: they do not broadcast to three dimensions.
static int inner_shape(const kg_case *c, kg_tensor *x) {
    kg_tensor both;
    if (kg_broadcast(&c->args[INPUT1].tensor, &c->args[INPUT2].tensor, &both)) return -1;
    return kg_broadcast(&both, &c->args[OTHER].tensor, x) || x->ndim != 3 ? -1 : 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *m = &c->args[MAT2].tensor;
    const kg_arg *other = &c->args[OTHER];
    const int64_t dim = kg_case_arg(c, t, "dim")->i;
    kg_tensor x;
    if (inner_shape(c, &x) || m->ndim != 3 || m->shape[0] != x.shape[0] || m->shape[1] != x.shape[2]) return -1;
    if (dim < -3 || dim > 2 || c->args[INPUT2].tensor.dtype != m->dtype || c->args[INPUT1].tensor.dtype != m->dtype ||
        (!other->scalar && other->tensor.dtype != m->dtype))
        return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(m->dtype, KG_SHAPE(x.shape[0], x.shape[1], m->shape[2]));
    return 0;
}

// ---- the terms of a row ---------------------------------------------------------------------------
typedef struct {
    const kg_answer *a;
    kg_holds *h;
    kg_rung r;
    kg_tensor x;  // (B, N, K), contiguous
    kg_view in[3], mat2, out;
    int dim;
    int64_t n, k, p;  // rows of a matrix, terms, columns
    double chance;
    kg_stage line;                  // of log-softmax
    kg_stage terms, kept, factors;  // K each
} bmm;

static kg_term summed(const bmm *v, int64_t i) {
    kg_term x[3];
    for (int j = 0; j < 3; j++) x[j] = kg_term_input(&v->r, kg_at(&v->in[j], i));
    const kg_term product = kg_term_stored(&v->r, kg_term_mul(&v->r, x[0], x[1]));
    return kg_term_stored(&v->r, kg_term_add(&v->r, product, x[2]));
}

// log-softmax along the line through element i, `step` apart.
static void log_softmax(const bmm *v, int64_t i) {
    const int64_t step = v->x.stride[v->dim], first = i - i / step % v->line.n * step;
    for (int64_t j = 0; j < v->line.n; j++) v->line.at[j] = summed(v, first + j * step);
    kg_stage_log_softmax(&v->r, (kg_stage *)&v->line);
    kg_stage_stored(&v->r, (kg_stage *)&v->line);
}

static void load_row(bmm *v, int64_t row) {
    for (int64_t k = 0; k < v->k; k++) {
        const int64_t i = row * v->k + k;
        if (v->dim != 2 || k == 0) log_softmax(v, i);
        v->terms.at[k] = v->line.at[i / v->x.stride[v->dim] % v->line.n];
        v->kept.at[k] =
            v->chance < 1 ? kg_term_stored(&v->r, kg_dropout_kept(&v->r, v->terms.at[k], v->chance)) : kg_term_exact(0);
    }
}

static double factor(const bmm *v, int64_t row, int64_t k, int64_t p) {
    return kg_at_offset(&v->mat2,
                        row / v->n * v->mat2.desc.stride[0] + k * v->mat2.desc.stride[1] + p * v->mat2.desc.stride[2]);
}
static double answer(const bmm *v, int64_t row, int64_t p) { return kg_at(&v->out, row * v->p + p); }

static kg_term sum_of(bmm *v, const kg_stage *left, int64_t row, int64_t p) {
    for (int64_t k = 0; k < v->k; k++) v->factors.at[k] = kg_term_input(&v->r, factor(v, row, k, p));
    return kg_stage_dot(&v->r, left, &v->factors);
}

// A row's outputs with these terms.
static void hold_row(bmm *v, const kg_stage *left, int64_t row, const char *how) {
    const kg_dtype t = v->out.desc.dtype;
    for (int64_t p = 0; p < v->p; p++) {
        kg_term y = sum_of(v, left, row, p);
        if (!isfinite(y.value)) y.local = y.acc = 0;
        y.local += fabs(y.value) * (kg_dtype_unit(t) / v->r.u < 1 ? 1 : kg_dtype_unit(t) / v->r.u);
        kg_hold(v->h, t, answer(v, row, p), y.value, y.local, y.acc, "out[%lld,%lld,%lld]%s", (long long)(row / v->n),
                (long long)(row % v->n), (long long)p, how);
    }
}

// ---- decoded --------------------------------------------------------------------------------------
// The masks of one matrix's rows.
static int decode_matrix(bmm *v, int64_t batch, signed char *mask) {
    double *space = malloc(SIZE(v->k * v->p + v->k + v->p) * sizeof *space);
    kg_term *masked = malloc(SIZE(v->k) * sizeof *masked);
    int rc = space && masked ? 0 : -1;
    double *z = space + v->k * v->p, *y = z + v->k;
    for (int64_t i = 0; i < v->k * v->p && !rc; i++) space[i] = factor(v, batch * v->n, i / v->p, i % v->p);
    kg_decoder *d = rc ? NULL : kg_decoder_make(space, v->k, v->p);
    for (int64_t row = batch * v->n; row < (batch + 1) * v->n && !rc; row++, mask += v->k) {
        load_row(v, row);
        for (int64_t p = 0; p < v->p; p++) y[p] = answer(v, row, p);
        if (d) kg_decode(d, y, z, NULL);
        for (int64_t k = 0; k < v->k; k++) {
            const kg_term kept = v->kept.at[k];
            const bool is_kept = d && fabs(z[k] - kept.value) < fabs(z[k]);
            // A term that is next to nothing tells nothing.
            const bool tells = d && fabs(kept.value) > 1e-6 && isfinite(z[k]);
            mask[k] = tells ? is_kept : -1;
            masked[k] = is_kept || !tells ? kept : kg_term_exact(0);
        }
        hold_row(v, &(kg_stage){v->k, masked}, row, ", with the terms kept that come nearest,");
    }
    kg_decoder_free(d);
    free(space);
    free(masked);
    return rc;
}

static int decode(bmm *v) {
    const int64_t n = kg_numel(&v->x);
    signed char *mask = malloc(SIZE(n));
    int rc = mask ? 0 : -1;
    for (int64_t batch = 0; batch < v->x.shape[0] && !rc; batch++)
        rc = decode_matrix(v, batch, mask + batch * v->n * v->k);
    if (!rc) rc = kg_mask_holds(v->h, v->a, mask, (size_t)n, v->chance);
    free(mask);
    return rc;
}

// ---- not decoded ------------------------------------------------------------------------------------
static uint64_t draw(const bmm *v, uint64_t i) {
    const kg_philox r = kg_philox4x32(v->a->seed, i, 4);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

// Rows that nothing random goes into, all or as many as the budget affords.
static void compare_rows(bmm *v) {
    const int64_t rows = v->x.shape[0] * v->n;
    const double lines = v->dim == 2 ? 1 : (double)v->k;  // a row's own, or one through each of its elements
    const double cost = (double)v->k * (double)v->p + lines * (double)v->line.n + 1;
    const int64_t afford =
        v->a->full || (double)rows * cost <= BUDGET ? rows : (int64_t)fmin((double)rows, fmax(16, BUDGET / cost));
    for (int64_t i = 0; i < afford; i++) {
        const int64_t row = afford >= rows ? i : (int64_t)(draw(v, (uint64_t)i) % (uint64_t)rows);
        load_row(v, row);
        hold_row(v, v->chance < 1 ? &v->terms : &v->kept, row, "");
    }
}

// One column of pairs of rows.
static int spread(bmm *v) {
    const int64_t rows = v->x.shape[0] * v->n, pairs = rows / 2;
    const size_t n = 2 * (size_t)(pairs < PAIRS ? pairs : PAIRS);
    double *found = malloc((2 * n + SIZE(v->k)) * sizeof *found);
    kg_dropped_sum *expected = malloc(SIZE(n) * sizeof *expected);
    int rc = found && expected ? 0 : -1;
    for (size_t i = 0; i < n && !rc; i++) {
        const int64_t pair = pairs < PAIRS ? (int64_t)i / 2 : (int64_t)(i / 2) * (pairs / PAIRS);
        const int64_t row = 2 * pair + (int64_t)i % 2, p = (int64_t)(draw(v, i / 2) % (uint64_t)v->p);
        double *a = found + 2 * n;
        load_row(v, row);
        const kg_term whole = sum_of(v, &v->kept, row, p);
        for (int64_t k = 0; k < v->k; k++) a[k] = v->terms.at[k].value * v->factors.at[k].value;
        found[i] = answer(v, row, p);
        found[n + i] = kg_term_error(&v->r, whole) + 2 * kg_dtype_unit(v->out.desc.dtype) * fabs(found[i]);
        expected[i] = kg_dropped_sum_of(a, v->k, v->chance);
    }
    if (!rc) kg_hold_dropped_sums(v->h, found, found + n, expected, n, "out");
    free(found);
    free(expected);
    return rc;
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    bmm v = {.a = a, .h = h, .mat2 = call->args[MAT2], .out = a->out[0], .chance = kg_dropout_p(call, "p")};
    kg_tensor shape;
    inner_shape(call->c, &shape);
    v.x = kg_tensor_contiguous(KG_F64, 3, shape.shape);
    for (int i = 0; i < 3; i++) {
        const kg_view in = kg_call_view(call, params[i].name);
        v.in[i] = kg_view_expand(&in, &v.x);
    }
    v.r = kg_rung_of(call->task, a->out[0].desc.dtype);
    v.dim = kg_wrap_dim(kg_call_arg(call, "dim")->i, 3);
    v.n = v.x.shape[1], v.k = v.x.shape[2], v.p = v.mat2.desc.shape[2];
    kg_stage *all[] = {&v.line, &v.terms, &v.kept, &v.factors};
    int rc = 0;
    for (int i = 0; i < 4; i++) {
        *all[i] = (kg_stage){i ? v.k : v.x.shape[v.dim], NULL};
        all[i]->at = malloc(SIZE(all[i]->n) * sizeof(kg_term));
        if (!all[i]->at) rc = -1;
    }
    const bool sure = v.chance <= 0 || v.chance >= 1 || v.k == 0;
    if (!rc && kg_numel(&a->out[0].desc) > 0) {
        if (sure) compare_rows(&v);
        else rc = v.k <= MOST_DECODED && v.p >= 2 * v.k ? decode(&v) : spread(&v);
    }
    for (int i = 0; i < 4; i++) free(all[i]->at);
    return rc;
}

static double terms_of(const kg_case *c) { return (double)c->args[MAT2].tensor.shape[1]; }

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *out = &c->outs[0];
    const double n = (double)(out->shape[0] * out->shape[1]) * terms_of(c);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(out->dtype)] = 2 * n * (double)out->shape[2];
    w->ops[KG_U_SPECIAL] = n;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 4 * terms_of(c) + 1;
}

const kg_task kg_task_kbx_fused_mul_add_logsoftmax_dropout_bmm = {
    .name = "fused_mul_add_logsoftmax_dropout_bmm",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_mul_add_logsoftmax_dropout_bmm(input1, input2, other, mat2, p=0.5, training=True, inplace=False, dim=-1, "
        "*, out=None) -> Tensor",
    .summary = "log_softmax of input1 * input2 + other, dropout, then a batched product with mat2.",
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
        "lambda input1, input2, other, mat2, p=0.5, training=True, inplace=False, dim=-1, out=None: (lambda y: y if out "
        "is None else out.copy_(y))(torch.bmm(F.dropout(F.log_softmax(input1 * input2 + other, dim), p, training, "
        "inplace), mat2))",
    .c_items = "kg_elements(out) ? kg_dim(out, 0) * kg_dim(out, 1) : 0",
    .c_body =
        "// Item i is a row. Each term's log-softmax is made for 64 columns at a time, whatever line of dim it lies on.\n"
        "const int64_t columns = kg_dim(out, 2), rows = kg_dim(out, 1), terms = kg_dim(mat2, 1), batches = kg_dim(out, 0);\n"
        "const int64_t along = dim < 0 ? dim + 3 : dim, n = along == 0 ? batches : along == 1 ? rows : terms;\n"
        "int64_t shape[3] = {batches, rows, terms}, strides[3] = {rows * terms, terms, 1};\n"
        "DLTensor x = *mat2;  // (B, N, K), for broadcasting\n"
        "x.shape = shape;\n"
        "x.strides = strides;\n"
        "const int64_t step = strides[along];\n"
        "double sum[64], largest = 0, total = 0;\n"
        "for (int64_t c = 0; c < columns; c++) {\n"
        "    if (c % 64 == 0) {\n"
        "        const int64_t many = columns - c < 64 ? columns - c : 64;\n"
        "        for (int64_t l = 0; l < many; l++) sum[l] = 0;\n"
        "        for (int64_t k = 0; k < terms; k++) {\n"
        "            const int64_t e = i * terms + k, first = e - e / step % n * step;\n"
        "            double d = 0;\n"
        "            for (int64_t turn = along == 2 && k > 0 ? 2 : 0; turn < 3; turn++) {\n"
        "                if (turn < 2) total = 0;\n"
        "                for (int64_t j = 0; j < (turn == 2 ? 1 : n); j++) {\n"
        "                    const int64_t at = turn == 2 ? e : first + j * step;\n"
        "                    const double s = kg_get_broadcast(input1, &x, at) * kg_get_broadcast(input2, &x, at) + kg_get_broadcast(other, &x, at);\n"
        "                    if (turn == 0) largest = j == 0 || s > largest || s != s ? s : largest;\n"
        "                    else if (turn == 1) total += exp(s - largest);\n"
        "                    else d = s - largest - log(total);\n"
        "                }\n"
        "            }\n"
        "            if (training) d = kg_uniform(seed, e) < p ? 0.0 : d / (1.0 - p);\n"
        "            for (int64_t l = 0; l < many; l++) sum[l] += d * kg_get(mat2, (i / rows * terms + k) * columns + c + l);\n"
        "        }\n"
        "    }\n"
        "    kg_put(out, i * columns + c, sum[c % 64]);\n"
        "}\n",
};
