// matrix_vector_dot(A, x, y, alpha, beta) -> Tensor
//
// y becomes alpha * (A @ x) + beta * y, in place; the result is its dot product with x, so A is square. Both are
// checked.
//
// Bounds. y as addmm's elements. The dot product adds their errors, weighted with x, like a random walk; what rounding
// x does to all of y at once is added apart (src/task/updates.h).
#include <stdlib.h>

#include "task/updates.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},
                                  {.name = "x", .kind = KG_P_TENSOR},
                                  {.name = "y", .kind = KG_P_TENSOR, .role = KG_INOUT},
                                  {.name = "alpha", .kind = KG_P_FLOAT},
                                  {.name = "beta", .kind = KG_P_FLOAT},
                                  {.name = NULL}};
enum { A, X, Y, ALPHA, BETA };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor a, double alpha, double beta) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, KG_FACTORS);
    kg_set_tensor(c, b->task, "x", a.dtype, KG_SHAPE(a.shape[1]), KG_NORMAL(0.5, 1));
    // As large as the product of some dozen terms, so that leaving it out or doubling it shows.
    kg_set_tensor(c, b->task, "y", a.dtype, KG_SHAPE(a.shape[0]), KG_NORMAL(0.5, 4));
    kg_set_float(c, b->task, "alpha", alpha);
    kg_set_float(c, b->task, "beta", beta);
    return c;
}

#define SQUARE(t, n) kg_tensor_contiguous(t, KG_SHAPE(n, n))
static void quick(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, SQUARE(t, 3), 1, 0.5);
    add(b, SQUARE(t, 1), 1, 0.5);
    add(b, SQUARE(t, 0), 1, 0.5);
    add(b, SQUARE(t, 33), 0.5, -2);
    add(b, SQUARE(t, 65), -1.5, 1);
    add(b, SQUARE(t, 33), 0, 0.75);
    add(b, SQUARE(t, 33), 1.25, 0);
    add(b, SQUARE(t, 257), 1, 1);
    add(b, kg_tensor_transposed(t, KG_SHAPE(65, 65), 0, 1), 1, 0.5);
    kg_case *c = add(b, kg_tensor_stepped(t, KG_SHAPE(31, 31), 2), 1, 0.5);
    kg_set_strided(c, b->task, "x", kg_tensor_stepped(t, KG_SHAPE(31), 3), KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "y", kg_tensor_stepped(t, KG_SHAPE(31), 2), KG_NORMAL(0.5, 4));
    add(b, SQUARE(t, 64), 1, 0.5)->args[A].fill = KG_OUTLIERS(0, 1);
    for (int i = A; i <= Y; i++) {
        add(b, SQUARE(t, 5), 1, 0.5)->args[i].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
        add(b, SQUARE(KG_F64, 5), 1, 0.5)->args[i].fill = KG_WIDE_INTEGERS;
    }
    add(b, SQUARE(KG_F16, 65), 0.5, 1);
    add(b, SQUARE(KG_BF16, 65), 0.5, 1);
    add(b, SQUARE(KG_F64, 65), 0.3, -0.7);
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    for (int64_t n = 2; n <= 1024; n *= 8) add(b, SQUARE(t, n), 1, 0.5);
    add(b, SQUARE(t, 1023), 1, 0.5);
    add(b, SQUARE(t, 1301), 1, 0.5);
    add(b, kg_tensor_expanded(t, KG_SHAPE(40, 40), 0), 1, 0.5);  // every row the same
    add(b, SQUARE(t, 64), 1, 1)->args[A].fill = KG_NORMAL(100, 1);
    add(b, SQUARE(t, 64), 1e-3, 1e3)->args[A].fill = KG_LOGSCALE(-6, 6);
    add(b, SQUARE(KG_F16, 257), 1, 0.5);
    add(b, SQUARE(KG_F64, 300), 1, 0.5);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 64; n <= (b->level == KG_TIMED_CUDA ? 32768 : 8192); n *= 2) add(b, SQUARE(KG_F32, n), 1, 0.5);
    return 0;
}
#undef SQUARE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *x = &c->args[X].tensor, *y = &c->args[Y].tensor;
    if (a->ndim != 2 || x->ndim != 1 || y->ndim != 1 || a->dtype != x->dtype || a->dtype != y->dtype) return -1;
    if (a->shape[1] != x->shape[0] || a->shape[0] != y->shape[0] || a->shape[0] != a->shape[1]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, 0, NULL);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static void put_y(kg_ref *ref, const kg_update_row *r) {
    for (size_t k = 0; k < ref->n; k++) {
        ref->value[k] = r->value[ref->index[k]];
        ref->local[k] = r->local[ref->index[k]];
        ref->acc[k] = r->acc[ref->index[k]];
    }
}

static void put_dot(kg_ref *ref, const kg_update *u, const kg_update_row *r, double *x, double *g) {
    const int64_t n = u->a.desc.shape[1];
    kg_sum_t sum = {0};
    double product = 0, acc2 = 0;
    for (int64_t k = 0; k < n; k++) {
        x[k] = kg_at_offset(&u->a, k * u->a.desc.stride[1]);
        const double v = r->value[k] * x[k];
        kg_sum_add_point(&sum, (kg_point){v, fabs(x[k]) * r->local[k] + fabs(v)});
        product += r->product[k] * x[k];
        acc2 += x[k] * x[k] * r->acc[k] * r->acc[k];
    }
    kg_update_weigh(u, x, g);
    const bool half = u->a.desc.dtype == KG_F16 || u->a.desc.dtype == KG_BF16;
    for (size_t k = 0; k < ref->n; k++) kg_update_put(ref, k, half, &sum, kg_update_shared2(u, 0, g), product, acc2);
}

// A's rows are independent outputs of x A^T, which is how they are computed here.
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view a = kg_call_view(call, "A"), x = kg_call_view(call, "x"), y = kg_call_view(call, "y");
    const kg_update u = {kg_as_row(&x), kg_turned(&a), kg_as_row(&y), call->c->args[ALPHA].f, call->c->args[BETA].f};
    const int64_t n = x.desc.shape[0];
    kg_update_row r;
    double *space = malloc(2 * (size_t)n * sizeof *space + 1);
    const int failed = kg_update_row_make(&r, n);
    if (!failed && space) {
        kg_update_row_of(&u, 0, &r);
        if (ref->out == 0) put_dot(ref, &u, &r, space, space + n);
        else put_y(ref, &r);
    }
    if (!failed) kg_update_row_free(&r);
    free(space);
    return failed || !space ? -1 : 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * (double)kg_numel(&c->args[A].tensor);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 2 * (double)kg_numel(&c->args[A].tensor));
}

const kg_task kg_task_kbx_matrix_vector_dot = {
    .name = "matrix_vector_dot",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "matrix_vector_dot(A, x, y, alpha, beta) -> Tensor",
    .summary = "y becomes alpha * (A @ x) + beta * y in place; the result is the dot product of the new y and x.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "lambda A, x, y, alpha, beta: torch.dot(y.copy_(alpha * torch.mv(A, x) + beta * y), x)",
    .c_items = "1",
    .c_body =
        "double dot = 0;\n"
        "for (int64_t r = 0; r < kg_dim(A, 0); r++) {\n"
        "    double sum = 0;\n"
        "    for (int64_t k = 0; k < kg_dim(A, 1); k++)\n"
        "        sum += kg_get_at(A, r * kg_stride(A, 0) + k * kg_stride(A, 1)) * kg_get(x, k);\n"
        "    kg_put(y, r, alpha * sum + beta * kg_get(y, r));\n"
        "    dot += kg_get(y, r) * kg_get(x, r);\n"
        "}\n"
        "kg_put(out, i, dot);\n",
};
