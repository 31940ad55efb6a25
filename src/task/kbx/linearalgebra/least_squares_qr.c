// least_squares_qr(A, b, *, mode='reduced', out=None) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// x = R^-1 (Q^H b) of A = Q R: the least squares solution for A of (*, m, n), m >= n, of full rank, and b of (*, m, k)
// or, where it has one dimension less than A, (*, m). mode is torch.linalg.qr's and changes no value; with 'complete' R
// is not square where m > n, and R^-1 is not defined as written: that mode has square cases only. 'r' has no Q and is
// no case. Cases and bound: src/task/least_squares.h.
#include <string.h>

#include "task/families.h"
#include "task/least_squares.h"
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "b", .kind = KG_P_TENSOR},
    {.name = "mode", .kind = KG_P_STR, .optional = true, .keyword = true, .has_default = true, .text = "reduced"},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void batches(kg_cases *b, kg_dtype t) {
    kg_least_squares_add(b, OF(t, 3, 7, 4), OF(t, 3, 7, 2));
    kg_least_squares_add(b, OF(t, 2, 3, 9, 3), OF(t, 2, 3, 9));
    kg_least_squares_add(b, OF(t, 23, 5), OF(t, 23));
    kg_least_squares_add(b, kg_tensor_transposed(t, KG_SHAPE(3, 9, 4), 0, 2), kg_tensor_stepped(t, KG_SHAPE(3, 9), 2));
}

static kg_case *square(kg_cases *b, kg_dtype t, int64_t n, const char *mode) {
    kg_case *c = kg_least_squares_add(b, OF(t, n, n), OF(t, n, 3));
    if (mode) kg_set_str(c, b->task, "mode", mode);
    return c;
}

// With 'complete' the triangle of R has a solution where R is square alone.
static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *a = &c->args[0].tensor;
    const kg_arg *mode = kg_case_arg(c, t, "mode");
    if (kg_least_squares_infer(t, c)) return -1;
    const bool complete = !mode->absent && !mode->none && strcmp(mode->s, "complete") == 0;
    return complete && a->shape[a->ndim - 1] != a->shape[a->ndim - 2] ? -1 : 0;
}

static int cases(kg_cases *b) {
    static const kg_dtype all[] = {KG_F32, KG_F64, KG_C64, KG_C128};
    kg_least_squares_cases(b);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (i >= 2) kg_least_squares_some(b, all[i]);
        batches(b, all[i]);
    }
    kg_least_squares_add(b, OF(KG_F32, 17, 9, 5), OF(KG_F32, 17, 9, 65));
    kg_least_squares_add(b, OF(KG_F32, 0, 5, 3), OF(KG_F32, 0, 5, 2));
    kg_least_squares_add(b, OF(KG_F32, 5, 3), OF(KG_F32, 5, 0));
    kg_least_squares_add(b, OF(KG_F32, 1, 1), OF(KG_F32, 1));
    kg_set_str(kg_least_squares_add(b, OF(KG_F32, 13, 4), OF(KG_F32, 13)), b->task, "mode", "reduced");
    square(b, KG_F32, 7, "complete");
    square(b, KG_C64, 4, "complete");
    kg_give_out(b, square(b, KG_F32, 6, NULL));
    kg_give_out(b, kg_least_squares_add(b, OF(KG_F32, 2, 11, 3), OF(KG_F32, 2, 11)));
    if (b->level == KG_CASES_QUICK) return 0;
    kg_least_squares_add(b, OF(KG_F32, 200, 3, 2), OF(KG_F32, 200, 3));
    kg_least_squares_add(b, OF(KG_F32, 2, 400, 200), OF(KG_F32, 2, 400, 2));
    kg_least_squares_add(b, OF(KG_C64, 65, 33), OF(KG_C64, 65, 2));
    return 0;
}
#undef OF

const kg_task kg_task_kbx_least_squares_qr = {
    KG_LEAST_SQUARES_TASK,
    .name = "least_squares_qr",
    .category = "LinearAlgebra",
    .signature = "least_squares_qr(A, b, *, mode='reduced', out=None) -> Tensor",
    .summary = "The least squares solutions x of A x = b, for matrices or vectors b, by QR factorisation.",
    .params = params,
    .cases = cases,
    .infer = infer,
    .torch_baseline =
        "lambda A, b, *, mode='reduced', out=None: (lambda y: y if out is None else out.copy_(y))("
        "(lambda q, r, v: (lambda x: x.squeeze(-1) if v else x)(torch.linalg.solve_triangular("
        "r, q.mH @ (b.unsqueeze(-1) if v else b), upper=True)))"
        "(*torch.linalg.qr(A, mode=mode), b.dim() == A.dim() - 1))",
};
