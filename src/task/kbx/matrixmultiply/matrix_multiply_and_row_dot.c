// matrix_multiply_and_row_dot(A, B, alpha, beta, C) -> Tensor
//
// The dot product of the first two rows of alpha * (A @ B) + beta * C. C itself stays as it is.
//
// Bounds. Both rows as addmm's elements; the dot product adds their errors, weighted with the other row, like a random
// walk. Rounding a row of A moves that whole row at once: added apart (src/task/updates.h).
#include <stdlib.h>

#include "task/updates.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},    {.name = "B", .kind = KG_P_TENSOR},
                                  {.name = "alpha", .kind = KG_P_FLOAT}, {.name = "beta", .kind = KG_P_FLOAT},
                                  {.name = "C", .kind = KG_P_TENSOR},    {.name = NULL}};
enum { A, B, ALPHA, BETA, C };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor a, kg_tensor other, double alpha, double beta) {
    kg_case *c = kg_case_add(b);
    // Means that do not cancel in the dot product.
    kg_set_strided(c, b->task, "A", a, KG_NORMAL(0.25, 1));
    kg_set_strided(c, b->task, "B", other, KG_NORMAL(0.25, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    kg_set_float(c, b->task, "beta", beta);
    kg_set_tensor(c, b->task, "C", a.dtype, KG_SHAPE(a.shape[0], other.shape[1]), KG_NORMAL(1, 4));
    return c;
}

#define DENSE(m, n)  kg_tensor_contiguous(t, KG_SHAPE(m, n))
#define TURNED(m, n) kg_tensor_transposed(t, KG_SHAPE(m, n), 0, 1)
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(2, 3), DENSE(3, 5), 1, 1);
    add(b, DENSE(2, 1), DENSE(1, 1), 1, 0.5);
    add(b, DENSE(17, 33), DENSE(33, 9), 0.5, -2);
    add(b, DENSE(9, 65), DENSE(65, 129), -1.5, 1);
    add(b, DENSE(5, 33), DENSE(33, 64), 0, 0.75);
    add(b, DENSE(5, 33), DENSE(33, 64), 1.25, 0);
    add(b, DENSE(3, 7), DENSE(7, 0), 1, 1);  // an empty dot product
    add(b, DENSE(3, 0), DENSE(0, 7), 1, 1);  // beta * C alone
    add(b, DENSE(2, 257), DENSE(257, 1025), 1, 0.5);
    add(b, TURNED(17, 65), TURNED(65, 31), 1, 1);
    kg_set_strided(add(b, kg_tensor_stepped(t, KG_SHAPE(5, 31), 2), DENSE(31, 20), 1, 1), b->task, "C",
                   kg_tensor_stepped(t, KG_SHAPE(5, 20), 3), KG_NORMAL(1, 4));
    add(b, DENSE(4, 64), DENSE(64, 40), 1, 1)->args[A].fill = KG_OUTLIERS(0, 1);
    add(b, DENSE(2, 5003), DENSE(5003, 2), 1, 1);
    add(b, DENSE(2, 3), DENSE(3, 5003), 1, 1);
    for (int i = A; i <= C; i += i == B ? C - B : 1) {
        t = KG_F32;
        add(b, DENSE(3, 5), DENSE(5, 7), 1, 0.5)->args[i].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
        t = KG_F64;
        add(b, DENSE(3, 5), DENSE(5, 7), 1, 0.5)->args[i].fill = KG_WIDE_INTEGERS;
    }
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(4, 65), DENSE(65, 33), 0.5, 1);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(2, 4), DENSE(4, 4097), 1, 1);
    add(b, DENSE(2, 2048), DENSE(2048, 3), 1, 1);
    add(b, DENSE(300, 129), DENSE(129, 77), 1, 1);
    add(b, kg_tensor_expanded(t, KG_SHAPE(40, 50), 0), DENSE(50, 30), 1, 1);
    add(b, DENSE(4, 64), DENSE(64, 40), 1e-3, 1e3);
    add(b, DENSE(4, 64), DENSE(64, 40), 1, 1)->args[B].fill = KG_NORMAL(100, 1);
    add(b, DENSE(4, 40), DENSE(40, 40), 1, 1)->args[A].fill = KG_LOGSCALE(-6, 6);
}

static void square(kg_cases *b, int64_t n) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(n, n), DENSE(n, n), 1, 1);
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
    if (a->shape[0] < 2 || a->shape[1] != b->shape[0] || d->shape[0] != a->shape[0] || d->shape[1] != b->shape[1])
        return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, 0, NULL);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static void dot(kg_ref *ref, const kg_update *u, const kg_update_row *p, const kg_update_row *q, double *g) {
    kg_sum_t sum = {0};
    double product = 0, acc2 = 0;
    for (int64_t k = 0; k < u->b.desc.shape[1]; k++) {
        const double x = fabs(p->value[k]), y = fabs(q->value[k]);
        kg_sum_add_point(&sum, (kg_point){p->value[k] * q->value[k], x * q->local[k] + y * p->local[k] + x * y});
        product += p->product[k] * q->value[k] + p->value[k] * q->product[k];
        acc2 += x * x * q->acc[k] * q->acc[k] + y * y * p->acc[k] * p->acc[k];
    }
    kg_update_weigh(u, q->value, g);
    double shared2 = kg_update_shared2(u, 0, g);
    kg_update_weigh(u, p->value, g);
    shared2 += kg_update_shared2(u, 1, g);
    const bool half = u->a.desc.dtype == KG_F16 || u->a.desc.dtype == KG_BF16;
    for (size_t k = 0; k < ref->n; k++) kg_update_put(ref, k, half, &sum, shared2, product, acc2);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_update u = {kg_call_view(call, "A"), kg_call_view(call, "B"), kg_call_view(call, "C"),
                         call->c->args[ALPHA].f, call->c->args[BETA].f};
    kg_update_row r[2] = {0};
    double *g = malloc((size_t)u.b.desc.shape[0] * sizeof *g + 1);
    int made = 0;
    while (made < 2 && !kg_update_row_make(&r[made], u.b.desc.shape[1])) made++;
    const bool ready = g && made == 2;
    for (int i = 0; ready && i < 2; i++) kg_update_row_of(&u, i, &r[i]);
    if (ready) dot(ref, &u, &r[0], &r[1], g);
    while (made > 0) kg_update_row_free(&r[--made]);
    free(g);
    return ready ? 0 : -1;
}

// Only the first two rows count: of A, of C, and of the products. All of B does.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    (void)t;
    const int64_t m = c->args[B].tensor.shape[0], p = c->args[B].tensor.shape[1];
    const double size = (double)kg_dtype_size(c->outs[0].dtype);
    const double c_rows = c->args[BETA].f == 0 ? 0 : 2, a_rows = c->args[A].tensor.stride[0] ? 2 : 1;
    *w = (kg_work){.bytes_read = size * ((double)(m * p) + a_rows * (double)m + c_rows * (double)p),
                   .bytes_written = size};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 4 * (double)(m * p);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 4 * (double)kg_numel(&c->args[B].tensor));
}

const kg_task kg_task_kbx_matrix_multiply_and_row_dot = {
    .name = "matrix_multiply_and_row_dot",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "matrix_multiply_and_row_dot(A, B, alpha, beta, C) -> Tensor",
    .summary = "The dot product of the first two rows of alpha * (A @ B) + beta * C.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda A, B, alpha, beta, C: (lambda r: torch.dot(r[0], r[1]))(alpha * torch.mm(A, B) + beta * C)",
    .c_items = "1",
    .c_body =
        "double dot = 0;\n"
        "for (int64_t j = 0; j < kg_dim(B, 1); j++) {\n"
        "    double row[2];\n"
        "    for (int64_t r = 0; r < 2; r++) {\n"
        "        double sum = 0;\n"
        "        for (int64_t k = 0; k < kg_dim(B, 0); k++)\n"
        "            sum += kg_get_at(A, r * kg_stride(A, 0) + k * kg_stride(A, 1)) *\n"
        "                   kg_get_at(B, k * kg_stride(B, 0) + j * kg_stride(B, 1));\n"
        "        row[r] = alpha * sum + beta * kg_get_at(C, r * kg_stride(C, 0) + j * kg_stride(C, 1));\n"
        "    }\n"
        "    dot += row[0] * row[1];\n"
        "}\n"
        "kg_put(out, i, dot);\n",
};
