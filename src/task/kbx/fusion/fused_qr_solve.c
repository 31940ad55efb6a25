// fused_qr_solve(A, b) -> Tensor
//
// x = R^-1 (Q^T b) of A = Q R: the least squares solution for A of (m, n), m >= n, of full rank, and b of (m, k).
// Cases and bound: src/task/least_squares.h.
#include "task/least_squares.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR}, {.name = "b", .kind = KG_P_TENSOR}, {.name = NULL}};

static int cases(kg_cases *b) {
    kg_least_squares_cases(b);
    return 0;
}

const kg_task kg_task_kbx_fused_qr_solve = {
    KG_LEAST_SQUARES_TASK,
    .name = "fused_qr_solve",
    .category = "Fusion",
    .signature = "fused_qr_solve(A, b) -> Tensor",
    .summary = "The least squares solution x of A x = b, by QR factorisation.",
    .params = params,
    .cases = cases,
    .infer = kg_least_squares_infer,
    .torch_baseline =
        "lambda A, b: (lambda q, r: torch.linalg.solve_triangular(r, q.mT @ b, upper=True))"
        "(*torch.linalg.qr(A))",
};
