// batched_matmul(A, B) -> Tensor
//
// A (M, K), B (M, N, K): out (M, N) with out[m, n] = sum_k A[m, k] B[m, n, k], a matrix-vector product for every m: one
// operation a byte. Bounds: src/oracle/product.c.
#include "task/products.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR}, {.name = "B", .kind = KG_P_TENSOR}, {.name = NULL}};
enum { A, B };

static kg_case *add(kg_cases *b, kg_tensor left, kg_tensor right) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", left, KG_FACTORS);
    kg_set_strided(c, b->task, "B", right, KG_FACTORS);
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(3, 5), DENSE(3, 7, 5));
    add(b, DENSE(1, 1), DENSE(1, 1, 1));
    add(b, DENSE(0, 5), DENSE(0, 7, 5));
    add(b, DENSE(3, 0), DENSE(3, 7, 0));
    add(b, DENSE(3, 5), DENSE(3, 0, 5));
    add(b, DENSE(17, 33), DENSE(17, 9, 33));
    add(b, DENSE(9, 9), DENSE(9, 9, 9));
    add(b, DENSE(5, 257), DENSE(5, 65, 257));
    add(b, DENSE(2, 4099), DENSE(2, 3, 4099));
    add(b, kg_tensor_transposed(t, KG_SHAPE(17, 33), 0, 1), kg_tensor_transposed(t, KG_SHAPE(17, 9, 33), 1, 2));
    add(b, kg_tensor_stepped(t, KG_SHAPE(7, 20), 3), kg_tensor_stepped(t, KG_SHAPE(7, 6, 20), 2));
    add(b, DENSE(7, 64), DENSE(7, 31, 64))->args[A].fill = KG_OUTLIERS(0, 1);
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, DENSE(9, 65), DENSE(9, 33, 65));
        add(b, DENSE(3, 1025), DENSE(3, 5, 1025));
    }
    t = KG_F16;  // halves accumulate in float32: no sum overflows on the way
    add(b, DENSE(64, 3), DENSE(64, 17, 3))->args[A].fill = KG_SPECIALS(0, 1);
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    for (int64_t n = 2; n <= 512; n = 4 * n + 1) add(b, DENSE(n, 7), DENSE(n, 5, 7));
    add(b, DENSE(5, 128), kg_tensor_expanded(t, KG_SHAPE(5, 9, 128), 0));
    add(b, kg_tensor_expanded(t, KG_SHAPE(5, 128), 0), DENSE(5, 9, 128));
    add(b, DENSE(4, 64), DENSE(4, 64, 64))->args[B].fill = KG_NORMAL(100, 1);
    add(b, DENSE(4, 64), DENSE(4, 64, 64))->args[B].fill = KG_LOGSCALE(-6, 6);
    add(b, DENSE(64, 128), DENSE(64, 128, 128));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    kg_dtype t = KG_F16;
    if (b->level == KG_TIMED_CUDA) {  // the published sizes: data/gap22_published.csv
        add(b, DENSE(64, 128), DENSE(64, 128, 128));
        add(b, DENSE(128, 2048), DENSE(128, 2048, 2048));
        return 0;
    }
    t = KG_F32;
    for (int64_t m = 2; m <= 64; m *= 2) add(b, DENSE(m, 1024), DENSE(m, 1024, 1024));
    return 0;
}
#undef DENSE

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[B].tensor;
    if (a->ndim != 2 || b->ndim != 3 || a->dtype != b->dtype) return -1;
    if (a->shape[0] != b->shape[0] || a->shape[1] != b->shape[2]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, KG_SHAPE(b->shape[0], b->shape[1]));
    return 0;
}

// (M, 1, K) @ (M, K, N): the same elements in the same order.
static int oracle(const kg_call *call, kg_ref *ref) {
    kg_view a = kg_call_view(call, "A"), b = kg_call_view(call, "B");
    const kg_tensor ta = a.desc, tb = b.desc;
    a.desc = (kg_tensor){ta.dtype, 3, {ta.shape[0], 1, ta.shape[1]}, {ta.stride[0], 0, ta.stride[1]}};
    b.desc =
        (kg_tensor){tb.dtype, 3, {tb.shape[0], tb.shape[2], tb.shape[1]}, {tb.stride[0], tb.stride[2], tb.stride[1]}};
    const kg_tensor out = kg_tensor_contiguous(ta.dtype, KG_SHAPE(tb.shape[0], 1, tb.shape[1]));
    kg_matmul_ref(&a, &b, &out, ref);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * (double)kg_numel(&c->args[B].tensor);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->args[A].tensor.shape[1] + 1;
}

const kg_task kg_task_gap22_batched_matmul = {
    .name = "batched_matmul",
    .suite = "gap22",
    .category = "MatrixMultiply",
    .signature = "batched_matmul(A, B) -> Tensor",
    .summary = "A (M, K) and B (M, N, K): the product of every matrix of B with its row of A, (M, N).",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "lambda A, B: torch.bmm(B, A.unsqueeze(-1)).squeeze(-1)",
    .c_body =
        "const int64_t m = i / kg_dim(B, 1), n = i % kg_dim(B, 1);\n"
        "double sum = 0;\n"
        "for (int64_t k = 0; k < kg_dim(A, 1); k++)\n"
        "    sum += kg_get_at(A, m * kg_stride(A, 0) + k * kg_stride(A, 1)) *\n"
        "           kg_get_at(B, m * kg_stride(B, 0) + n * kg_stride(B, 1) + k * kg_stride(B, 2));\n"
        "kg_put(out, i, sum);\n",
};
