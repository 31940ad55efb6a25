// fused_svd_reconstruct(A) -> Tensor
//
// U diag(S) V^H of the singular value decomposition of A (m, n): A again, but for rounding. So the input itself is a
// right answer, the best one there is; what is judged is that a decomposition put together again gives it.
//
// Bound: that of a backward stable decomposition, KG_SPREAD kg_svd_error() u s_1 in each element (src/task/singular.h).
#include "task/singular.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int64_t m, int64_t n) {
    return kg_singular_add(b, kind, t, 0, NULL, m, n);
}

static void some(kg_cases *b, kg_dtype t) {
    add(b, KG_FILL_NORMAL, t, 17, 17);
    add(b, KG_FILL_NORMAL, t, 9, 20);
    add(b, KG_FILL_NORMAL, t, 21, 6);
    add(b, KG_FILL_RAISED, t, 13, 13);
    add(b, KG_FILL_NORMAL, t, 14, 11)->args[0].tensor = kg_tensor_transposed(t, KG_SHAPE(14, 11), 0, 1);
    add(b, KG_FILL_NORMAL, t, 10, 12)->args[0].tensor = kg_tensor_stepped(t, KG_SHAPE(10, 12), 3);
}

static int cases(kg_cases *b) {
    static const int64_t shapes[][2] = {{1, 1}, {2, 2}, {3, 3}, {1, 7}, {9, 1}, {33, 33}, {64, 20}, {5, 40}, {64, 64}};
    static const int64_t more[][2] = {{65, 63}, {100, 3}, {2, 101}, {128, 128}, {31, 32}, {4, 4}, {90, 91}};
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        for (int64_t n = 64; n <= (b->level == KG_TIMED_CPU ? 128 : 1024); n *= 2) add(b, KG_FILL_NORMAL, KG_F32, n, n);
        return 0;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(b, KG_FILL_NORMAL, KG_F32, shapes[i][0], shapes[i][1]);
    some(b, KG_F32);
    some(b, KG_F64);
    some(b, KG_C64);
    add(b, KG_FILL_CONST, KG_F32, 6, 5);  // rank one
    add(b, KG_FILL_ZERO, KG_F32, 4, 4);
    add(b, KG_FILL_OUTLIERS, KG_F32, 24, 18);
    add(b, KG_FILL_NORMAL, KG_F32, 0, 4);
    add(b, KG_FILL_NORMAL, KG_F32, 3, 0);
    if (b->level == KG_CASES_QUICK) return 0;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        add(b, KG_FILL_NORMAL, KG_F32, more[i][0], more[i][1]);
        add(b, KG_FILL_NORMAL, KG_F64, more[i][0], more[i][1]);
    }
    some(b, KG_C128);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[0].tensor;
    if (a->ndim != 2) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, 2, a->shape);
    return 0;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_dtype t = call->c->outs[0].dtype;
    const int64_t count = kg_numel(&answer->out[0].desc);
    if (count == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[0], kg_dtype_is_complex(t), 2);
    const double e = KG_SPREAD * kg_svd_error(a.rows < a.cols ? a.rows : a.cols) * kg_largest_singular(&a, 0);
    for (int64_t i = 0; i < count; i++) {
        const double x = kg_at(&call->args[0], i);
        kg_hold(h, t, kg_at(&answer->out[0], i), x, e + fabs(x), 0, "element %lld", (long long)i);
    }
    return 0;
}

// A bidiagonalisation, the least of what a decomposition takes, and the product.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[0].tensor;
    const double m = (double)a->shape[0], n = (double)a->shape[1], q = fmin(m, n);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * (4 * q * q * (fmax(m, n) - q / 3) + 2 * m * n * q);
}

const kg_task kg_task_kbx_fused_svd_reconstruct = {
    .name = "fused_svd_reconstruct",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_svd_reconstruct(A) -> Tensor",
    .summary = "U diag(S) V^H of A's singular value decomposition: A again.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A: (lambda u, s, v: (u * s) @ v)(*torch.linalg.svd(A, full_matrices=False))",
    .c_items = "1",
    .c_body = KG_BODY_JACOBI("A") KG_BODY_JACOBI_PUT("false", "1"),
};
