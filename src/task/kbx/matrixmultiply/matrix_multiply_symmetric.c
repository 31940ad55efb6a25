// matrix_multiply_symmetric(A, B, C, alpha, beta) -> Tensor
//
// D = alpha * (A @ B) + beta * C, then alpha * (D @ D.T) + beta * D. So D is square. C itself stays as it is.
//
// Bounds. D as addmm's elements, d_ik with an error e_ik. An element of the result adds |d_jk| e_ik + |d_ik| e_jk like
// a random walk, and its own product. Rounding a row of A moves a whole row of D at once: added apart
// (src/task/updates.h).
#include <stdlib.h>

#include "task/updates.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},   {.name = "B", .kind = KG_P_TENSOR},
                                  {.name = "C", .kind = KG_P_TENSOR},   {.name = "alpha", .kind = KG_P_FLOAT},
                                  {.name = "beta", .kind = KG_P_FLOAT}, {.name = NULL}};
enum { A, B, C, ALPHA, BETA };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor a, kg_tensor other, double alpha, double beta) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, KG_FACTORS);
    kg_set_strided(c, b->task, "B", other, KG_FACTORS);
    kg_set_tensor(c, b->task, "C", a.dtype, KG_SHAPE(a.shape[0], other.shape[1]), KG_NORMAL(0.5, 4));
    kg_set_float(c, b->task, "alpha", alpha);
    kg_set_float(c, b->task, "beta", beta);
    return c;
}

#define DENSE(m, n)  kg_tensor_contiguous(t, KG_SHAPE(m, n))
#define TURNED(m, n) kg_tensor_transposed(t, KG_SHAPE(m, n), 0, 1)
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(3, 5), DENSE(5, 3), 2, 0.5);
    add(b, DENSE(1, 1), DENSE(1, 1), 1, 0.5);
    add(b, DENSE(0, 4), DENSE(4, 0), 1, 0.5);
    add(b, DENSE(9, 33), DENSE(33, 9), 0.5, -2);
    add(b, DENSE(33, 17), DENSE(17, 33), -1.5, 1);
    add(b, DENSE(17, 20), DENSE(20, 17), 0, 0.75);
    add(b, DENSE(17, 20), DENSE(20, 17), 1.25, 0);
    add(b, DENSE(4, 0), DENSE(0, 4), 1, 0.5);  // D is beta * C
    add(b, DENSE(65, 129), DENSE(129, 65), 1, 0.5);
    add(b, TURNED(31, 20), TURNED(20, 31), 1, 0.5);
    kg_set_strided(add(b, kg_tensor_stepped(t, KG_SHAPE(21, 9), 2), DENSE(9, 21), 1, 0.5), b->task, "C",
                   kg_tensor_transposed(t, KG_SHAPE(21, 21), 0, 1), KG_NORMAL(0.5, 4));
    add(b, DENSE(20, 30), DENSE(30, 20), 1, 0.5)->args[A].fill = KG_OUTLIERS(0, 1);
    add(b, DENSE(3, 5003), DENSE(5003, 3), 1, 0.5);
    for (int i = A; i <= C; i++) {
        t = KG_F32;
        add(b, DENSE(3, 5), DENSE(5, 3), 1, 0.5)->args[i].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
        t = KG_F64;
        add(b, DENSE(3, 5), DENSE(5, 3), 1, 0.5)->args[i].fill = KG_WIDE_INTEGERS;
    }
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(33, 20), DENSE(20, 33), 0.5, 0.75);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(2, 3), DENSE(3, 2), 1, 1);
    add(b, DENSE(3, 2048), DENSE(2048, 3), 1, 1);
    add(b, DENSE(200, 3), DENSE(3, 200), 1, 0.5);
    add(b, DENSE(1031, 3), DENSE(3, 1031), 1, 0.5);
    add(b, DENSE(128, 128), DENSE(128, 128), 1, 0.5);
    add(b, kg_tensor_expanded(t, KG_SHAPE(30, 40), 0), DENSE(40, 30), 1, 1);
    add(b, DENSE(20, 30), DENSE(30, 20), 1, 0.5)->args[B].fill = KG_NORMAL(100, 1);
    add(b, DENSE(20, 30), DENSE(30, 20), 1e-2, 10);
}

static void square(kg_cases *b, int64_t n) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(n, n), DENSE(n, n), 1, 0.5);
}
#undef DENSE
#undef TURNED

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_square_sizes(b, square);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[B].tensor, *d = &c->args[C].tensor;
    if (a->ndim != 2 || b->ndim != 2 || d->ndim != 2 || a->dtype != b->dtype || a->dtype != d->dtype) return -1;
    const int64_t n = a->shape[0];
    if (a->shape[1] != b->shape[0] || b->shape[1] != n || d->shape[0] != n || d->shape[1] != n) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, KG_SHAPE(n, n));
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
// Rows of D that were asked for, and what weighs A's rounding when that row is the other factor.
typedef struct {
    kg_update u;
    int64_t n, m;
    kg_update_row *row;
    double **weighed;
} rows;

static int need(rows *r, int64_t i) {
    if (r->weighed[i]) return 0;
    if (kg_update_row_make(&r->row[i], r->n)) return -1;
    r->weighed[i] = malloc((size_t)r->m * sizeof **r->weighed + 1);
    if (!r->weighed[i]) {
        kg_update_row_free(&r->row[i]);
        return -1;
    }
    kg_update_row_of(&r->u, i, &r->row[i]);
    kg_update_weigh(&r->u, r->row[i].value, r->weighed[i]);
    return 0;
}

static void element(const rows *r, int64_t i, int64_t j, kg_ref *ref, size_t k) {
    const kg_update_row *p = &r->row[i], *q = &r->row[j];
    const double alpha = r->u.alpha, beta = r->u.beta;
    kg_sum_t sum = {0};
    double product = 0, acc2 = 0, stored2 = 0;
    for (int64_t c = 0; c < r->n; c++) {
        const double v = p->value[c] * q->value[c], x = fabs(p->value[c]), y = fabs(q->value[c]);
        kg_sum_add_point(&sum, (kg_point){v, x * q->local[c] + y * p->local[c] + 2 * fabs(v)});
        product += p->product[c] * q->value[c] + p->value[c] * q->product[c];
        acc2 += x * x * q->acc[c] * q->acc[c] + y * y * p->acc[c] * p->acc[c];
        stored2 += v * v;
    }
    const bool half = r->u.a.desc.dtype == KG_F16 || r->u.a.desc.dtype == KG_BF16;
    double shared2 = kg_update_shared2(&r->u, i, r->weighed[j]) + kg_update_shared2(&r->u, j, r->weighed[i]);
    if (i == j) shared2 *= 2;  // one cause, twice
    kg_update_put(ref, k, half, &sum, shared2, fabs(product) + 2 * sqrt(stored2), acc2);
    const double scaled = alpha * ref->value[k], addend = beta * p->value[j];
    ref->value[k] = scaled + addend;
    const double rounded = 2 * fabs(scaled) + 2 * fabs(addend);  // not as tf32
    ref->local[k] = fabs(alpha) * ref->local[k] + (half ? rounded : 0) + fabs(beta) * p->local[j];
    ref->acc[k] = fabs(alpha) * ref->acc[k] + rounded + fabs(beta) * p->acc[j];
}

static int oracle(const kg_call *call, kg_ref *ref) {
    rows r = {.u = {kg_call_view(call, "A"), kg_call_view(call, "B"), kg_call_view(call, "C"), call->c->args[ALPHA].f,
                    call->c->args[BETA].f}};
    r.n = r.u.a.desc.shape[0], r.m = r.u.a.desc.shape[1];
    r.row = calloc((size_t)r.n + 1, sizeof *r.row);
    r.weighed = calloc((size_t)r.n + 1, sizeof *r.weighed);
    int failed = !r.row || !r.weighed;
    for (size_t k = 0; k < ref->n && !failed; k++) {
        const int64_t i = ref->index[k] / r.n, j = ref->index[k] % r.n;
        failed = need(&r, i) || need(&r, j);
        if (!failed) element(&r, i, j, ref, k);
    }
    for (int64_t i = 0; r.row && r.weighed && i < r.n; i++) {
        if (!r.weighed[i]) continue;
        kg_update_row_free(&r.row[i]);
        free(r.weighed[i]);
    }
    free(r.row);
    free(r.weighed);
    return failed ? -1 : 0;
}

// The second product is symmetric: half of it is work.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)c->args[A].tensor.shape[0], m = (double)c->args[A].tensor.shape[1];
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * n * n * m + n * n * (n + 1);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    // Two rows of D for each element; a case that is checked whole shares them.
    const double n = (double)c->args[A].tensor.shape[0], m = (double)c->args[A].tensor.shape[1];
    return n <= 256 ? fmax(1, 4 * m + 4 * n) : 4 * n * m;
}

const kg_task kg_task_kbx_matrix_multiply_symmetric = {
    .name = "matrix_multiply_symmetric",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "matrix_multiply_symmetric(A, B, C, alpha, beta) -> Tensor",
    .summary = "D = alpha * (A @ B) + beta * C, then alpha * (D @ D.T) + beta * D.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda A, B, C, alpha, beta: (lambda D: alpha * torch.mm(D, D.T) + beta * D)(alpha * torch.mm(A, B) + beta * C)",
    .c_body =
        "// Elements (r, k) and (s, k) of D again for every output: nowhere to keep them.\n"
        "const int64_t n = kg_dim(out, 0), r = i / n, s = i % n;\n"
        "double total = 0, own = 0;\n"
        "for (int64_t k = 0; k < n; k++) {\n"
        "    double d[2] = {0.0, 0.0};\n"
        "    for (int64_t h = 0; h < 2; h++) {\n"
        "        const int64_t row = h ? s : r;\n"
        "        for (int64_t m = 0; m < kg_dim(B, 0); m++)\n"
        "            d[h] += kg_get_at(A, row * kg_stride(A, 0) + m * kg_stride(A, 1)) *\n"
        "                    kg_get_at(B, m * kg_stride(B, 0) + k * kg_stride(B, 1));\n"
        "        d[h] = alpha * d[h] + beta * kg_get_at(C, row * kg_stride(C, 0) + k * kg_stride(C, 1));\n"
        "    }\n"
        "    total += d[0] * d[1];\n"
        "    if (k == s) own = d[0];\n"
        "}\n"
        "kg_put(out, i, alpha * total + beta * own);\n",
};
