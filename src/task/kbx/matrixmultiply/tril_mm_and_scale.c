// tril_mm_and_scale(A, B, alpha, beta) -> Tensor
//
// beta * (alpha * (tril(A) @ B)). What stands above A's diagonal does not count, NaN and all.
//
// Bounds: a product of as many terms as the row has at or left of the diagonal (src/oracle/product.c), scaled twice.
#include "oracle/reduce.h"
#include "task/products.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},
                                  {.name = "B", .kind = KG_P_TENSOR},
                                  {.name = "alpha", .kind = KG_P_FLOAT},
                                  {.name = "beta", .kind = KG_P_FLOAT},
                                  {.name = NULL}};
enum { A, B, ALPHA, BETA };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor a, kg_tensor other, double alpha, double beta) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, KG_FACTORS);
    kg_set_strided(c, b->task, "B", other, KG_FACTORS);
    kg_set_float(c, b->task, "alpha", alpha);
    kg_set_float(c, b->task, "beta", beta);
    return c;
}

#define DENSE(m, n)  kg_tensor_contiguous(t, KG_SHAPE(m, n))
#define TURNED(m, n) kg_tensor_transposed(t, KG_SHAPE(m, n), 0, 1)
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(3, 3), DENSE(3, 5), 0.5, 0.5);
    add(b, DENSE(1, 1), DENSE(1, 1), 0.5, 0.5);
    add(b, DENSE(0, 0), DENSE(0, 4), 0.5, 0.5);
    add(b, DENSE(4, 4), DENSE(4, 0), 0.5, 0.5);
    add(b, DENSE(33, 33), DENSE(33, 9), 0.5, -2);
    add(b, DENSE(65, 65), DENSE(65, 31), -1.5, 3);
    add(b, DENSE(17, 17), DENSE(17, 20), 0, 0.75);
    add(b, DENSE(17, 17), DENSE(17, 20), 1.25, 0);
    add(b, DENSE(17, 17), DENSE(17, 1), 1, 1);
    add(b, DENSE(130, 130), DENSE(130, 66), 0.5, 0.5);
    add(b, DENSE(600, 600), DENSE(600, 2), 0.5, 0.5);  // rows long enough to tell half precision from tf32
    add(b, DENSE(2, 2), DENSE(2, 4099), 0.5, 0.5);
    add(b, TURNED(31, 31), TURNED(31, 20), 0.5, 0.5);
    add(b, kg_tensor_stepped(t, KG_SHAPE(21, 21), 2), kg_tensor_stepped(t, KG_SHAPE(21, 9), 3), 0.5, 0.5);
    add(b, DENSE(40, 40), DENSE(40, 20), 0.5, 0.5)->args[A].fill = KG_OUTLIERS(0, 1);
    // B below 1: no product overflows, so that all orders agree.
    for (int k = 0; k < 24; k++) {
        kg_case *c = add(b, DENSE(2, 2), DENSE(2, 1 + k), 0.5, 0.5);
        c->args[A].fill = KG_SPECIALS(0, 1);
        c->args[B].fill = KG_UNIFORM(0.25, 0.75);
    }
    // Everywhere, whatever it meets.
    add(b, DENSE(3, 3), DENSE(3, 5), 0.5, 0.5)->args[A].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, DENSE(3, 3), DENSE(3, 5), 0.5, 0.5)->args[B].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    t = KG_F64;
    for (int i = A; i <= B; i++) add(b, DENSE(9, 9), DENSE(9, 5), 0.5, 0.5)->args[i].fill = KG_WIDE_INTEGERS;
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(65, 65), DENSE(65, 17), 0.5, 0.75);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(2, 2), DENSE(2, 3), 1, 1);
    add(b, DENSE(127, 127), DENSE(127, 129), 0.5, 0.5);
    add(b, DENSE(256, 256), DENSE(256, 256), 0.5, 0.5);
    add(b, DENSE(2053, 2053), DENSE(2053, 3), 0.5, 0.5);
    add(b, kg_tensor_expanded(t, KG_SHAPE(30, 30), 0), DENSE(30, 40), 1, 1);
    add(b, DENSE(40, 40), DENSE(40, 20), 1e-3, 1e3);
    add(b, DENSE(40, 40), DENSE(40, 20), 1, 1)->args[B].fill = KG_LOGSCALE(-6, 6);
}

static int cases(kg_cases *b) {
    const kg_dtype t = KG_F32;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 16; n <= (b->level == KG_TIMED_CUDA ? 2048 : 1024); n *= 2)
        add(b, DENSE(n, n), DENSE(n, n), 0.5, 0.5);
    return 0;
}
#undef DENSE
#undef TURNED

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[B].tensor;
    if (a->ndim != 2 || b->ndim != 2 || a->dtype != b->dtype || a->shape[0] != a->shape[1]) return -1;
    c->n_outs = 1;
    return kg_matmul_shape(a, b, &c->outs[0]);
}

// ---- oracle ---------------------------------------------------------------------------------------
// A row of A up to the diagonal times as many rows of B is a product of its own.
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view a = kg_call_view(call, "A"), b = kg_call_view(call, "B");
    const int64_t columns = b.desc.shape[1];
    const double alpha = call->c->args[ALPHA].f, beta = call->c->args[BETA].f;
    const bool half = kg_is_half(call->c->outs[0].dtype);
    for (size_t k = 0; k < ref->n;) {
        const int64_t row = ref->index[k] / columns;
        size_t n = 1;
        while (k + n < ref->n && ref->index[k + n] / columns == row) n++;
        kg_view left = a, right = b;
        left.desc.shape[1] = right.desc.shape[0] = row + 1;
        kg_ref part = {0, n, ref->index + k, ref->value + k, ref->local + k, ref->acc + k};
        kg_matmul_ref(&left, &right, &call->c->outs[0], &part);
        for (; n > 0; n--, k++) {
            const double v = alpha * ref->value[k], size = fabs(alpha * beta);
            ref->value[k] = beta * v;
            // Two scalings may round, and storing between them; not as tf32, which only the product may be.
            ref->local[k] = size * ref->local[k] + (half ? 4 * fabs(beta * v) : 0);
            ref->acc[k] = size * ref->acc[k] + 4 * fabs(beta * v);
        }
    }
    return 0;
}

static double below(const kg_tensor *a) { return (double)a->shape[0] * (double)(a->shape[0] + 1) / 2; }

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[B].tensor;
    const double size = (double)kg_dtype_size(a->dtype), all = (double)kg_case_input_bytes(c, t);
    const double above = a->stride[0] && a->stride[1] ? size * ((double)kg_numel(a) - below(a)) : 0;
    *w = (kg_work){.bytes_read = all - above, .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(a->dtype)] = 2 * below(a) * (double)b->shape[1];
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->args[A].tensor.shape[1] + 1;
}

const kg_task kg_task_kbx_tril_mm_and_scale = {
    .name = "tril_mm_and_scale",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "tril_mm_and_scale(A, B, alpha, beta) -> Tensor",
    .summary = "beta * (alpha * (tril(A) @ B)); what stands above the diagonal of A does not count.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "lambda A, B, alpha, beta: beta * (alpha * torch.mm(torch.tril(A), B))",
    .c_body =
        "const int64_t row = i / kg_dim(B, 1), column = i % kg_dim(B, 1);\n"
        "double sum = 0;\n"
        "for (int64_t k = 0; k <= row; k++)\n"
        "    sum += kg_get_at(A, row * kg_stride(A, 0) + k * kg_stride(A, 1)) *\n"
        "           kg_get_at(B, k * kg_stride(B, 0) + column * kg_stride(B, 1));\n"
        "kg_put(out, i, beta * (alpha * sum));\n",
};
