// symmetric_mm_and_abs_sum(A, C, alpha, beta) -> Tensor
//
// The sum of |alpha * (A @ A.T) + beta * C| over all elements. C itself stays as it is.
//
// Bounds. Elements as addmm's; their errors add like a random walk. Rounding a row of A moves a row and a column at
// once: added apart, twice what one row's does (src/task/updates.h).
#include <stdlib.h>

#include "task/updates.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},
                                  {.name = "C", .kind = KG_P_TENSOR},
                                  {.name = "alpha", .kind = KG_P_FLOAT},
                                  {.name = "beta", .kind = KG_P_FLOAT},
                                  {.name = NULL}};
enum { A, C, ALPHA, BETA };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor a, double alpha, double beta) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, KG_FACTORS);
    kg_set_tensor(c, b->task, "C", a.dtype, KG_SHAPE(a.shape[0], a.shape[0]), KG_NORMAL(-0.5, 4));
    kg_set_float(c, b->task, "alpha", alpha);
    kg_set_float(c, b->task, "beta", beta);
    return c;
}

#define DENSE(m, n) kg_tensor_contiguous(t, KG_SHAPE(m, n))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(3, 5), 1, 0.5);
    add(b, DENSE(1, 1), 1, 0.5);
    add(b, DENSE(0, 4), 1, 0.5);
    add(b, DENSE(9, 33), 0.5, -2);
    add(b, DENSE(33, 17), -1.5, 1);
    add(b, DENSE(17, 20), 0, 0.75);
    add(b, DENSE(17, 20), 1.25, 0);
    add(b, DENSE(4, 0), 1, 0.5);  // beta * C alone
    add(b, DENSE(65, 129), 1, 0.5);
    add(b, DENSE(130, 7), 1, 0.5);
    kg_set_strided(add(b, kg_tensor_transposed(t, KG_SHAPE(31, 20), 0, 1), 1, 0.5), b->task, "C",
                   kg_tensor_transposed(t, KG_SHAPE(31, 31), 0, 1), KG_NORMAL(-0.5, 4));
    kg_set_strided(add(b, kg_tensor_stepped(t, KG_SHAPE(21, 9), 2), 1, 0.5), b->task, "C",
                   kg_tensor_stepped(t, KG_SHAPE(21, 21), 3), KG_NORMAL(-0.5, 4));
    add(b, DENSE(20, 30), 1, 0.5)->args[A].fill = KG_OUTLIERS(0, 1);
    add(b, DENSE(16, 16), 1, 1)->args[C].fill = KG_NORMAL(-100, 1);  // all negative
    add(b, DENSE(3, 5003), 1, 0.5);
    add(b, DENSE(1031, 3), 1, 0.5);
    for (int i = A; i <= C; i++) {
        t = KG_F32;
        add(b, DENSE(3, 5), 1, 0.5)->args[i].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
        t = KG_F64;
        add(b, DENSE(3, 5), 1, 0.5)->args[i].fill = KG_WIDE_INTEGERS;
    }
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(17, 20), 0.5, 0.75);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(2, 3), 1, 1);
    add(b, DENSE(3, 2048), 1, 1);
    add(b, DENSE(200, 3), 1, 0.5);
    add(b, DENSE(2053, 2), 1, 0.5);
    add(b, DENSE(256, 256), 1, 0.5);
    add(b, kg_tensor_expanded(t, KG_SHAPE(30, 40), 0), 1, 1);
    add(b, DENSE(20, 30), 1, 0.5)->args[A].fill = KG_NORMAL(100, 1);
    add(b, DENSE(20, 30), 1e-3, 1e3);
}

static int cases(kg_cases *b) {
    const kg_dtype t = KG_F32;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 16; n <= (b->level == KG_TIMED_CUDA ? 2048 : 512); n *= 2) add(b, DENSE(n, n), 1, 0.5);
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *d = &c->args[C].tensor;
    if (a->ndim != 2 || d->ndim != 2 || a->dtype != d->dtype) return -1;
    if (d->shape[0] != a->shape[0] || d->shape[1] != a->shape[0]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, 0, NULL);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_sum_t sum;
    double shared2, product, acc2;
} totals;

static void add_row(totals *t, const kg_update *u, int64_t i, const kg_update_row *r, double *sign, double *g) {
    for (int64_t j = 0; j < u->b.desc.shape[1]; j++) {
        const double v = fabs(r->value[j]);
        kg_sum_add_point(&t->sum, (kg_point){v, r->local[j] + v});
        sign[j] = r->value[j] < 0 ? -1 : 1;
        t->product += 2 * sign[j] * r->product[j];  // both factors are A
        t->acc2 += r->acc[j] * r->acc[j];
    }
    kg_update_weigh(u, sign, g);
    t->shared2 += 4 * kg_update_shared2(u, i, g);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view a = kg_call_view(call, "A");
    const kg_update u = {a, kg_turned(&a), kg_call_view(call, "C"), call->c->args[ALPHA].f, call->c->args[BETA].f};
    const int64_t n = a.desc.shape[0], m = a.desc.shape[1];
    const bool half = a.desc.dtype == KG_F16 || a.desc.dtype == KG_BF16;
    kg_update_row r;
    totals t = {0};
    double *space = malloc((size_t)(n + m) * sizeof *space + 1);
    const int failed = kg_update_row_make(&r, n);
    for (int64_t i = 0; !failed && space && i < n; i++) {
        kg_update_row_of(&u, i, &r);
        add_row(&t, &u, i, &r, space, space + n);
    }
    for (size_t k = 0; k < ref->n; k++) kg_update_put(ref, k, half, &t.sum, t.shared2, t.product, t.acc2);
    if (!failed) kg_update_row_free(&r);
    free(space);
    return failed || !space ? -1 : 0;
}

// A @ A.T is symmetric: half of it is work.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)c->args[A].tensor.shape[0], m = (double)c->args[A].tensor.shape[1];
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = n * (n + 1) * m;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const double n = (double)c->args[A].tensor.shape[0], m = (double)c->args[A].tensor.shape[1];
    return fmax(1, 2 * n * n * m);
}

const kg_task kg_task_kbx_symmetric_mm_and_abs_sum = {
    .name = "symmetric_mm_and_abs_sum",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "symmetric_mm_and_abs_sum(A, C, alpha, beta) -> Tensor",
    .summary = "The sum of the absolute values of alpha * (A @ A.T) + beta * C.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "lambda A, C, alpha, beta: torch.sum(torch.abs(alpha * torch.mm(A, A.T) + beta * C))",
    .c_items = "1",
    .c_body =
        "double total = 0;\n"
        "for (int64_t r = 0; r < kg_dim(A, 0); r++)\n"
        "    for (int64_t s = 0; s < kg_dim(A, 0); s++) {\n"
        "        double sum = 0;\n"
        "        for (int64_t k = 0; k < kg_dim(A, 1); k++)\n"
        "            sum += kg_get_at(A, r * kg_stride(A, 0) + k * kg_stride(A, 1)) *\n"
        "                   kg_get_at(A, s * kg_stride(A, 0) + k * kg_stride(A, 1));\n"
        "        total += fabs(alpha * sum + beta * kg_get_at(C, r * kg_stride(C, 0) + s * kg_stride(C, 1)));\n"
        "    }\n"
        "kg_put(out, i, total);\n",
};
