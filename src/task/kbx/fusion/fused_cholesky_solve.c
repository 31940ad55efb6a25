// fused_cholesky_solve(A, b) -> Tensor
//
// A is (n, n), symmetric positive definite; b is (n, k), as the signature has them. What a matrix that is not positive
// definite gives is left open, so there is no such case. Bound: src/oracle/matrices.h, of an elimination that does not
// pivot (a symmetric one's is the same).
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR}, {.name = "b", .kind = KG_P_TENSOR}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, RHS };

static const kg_fill_kind kinds[] = {KG_FILL_SYMMETRIC};
static const kg_system_family family = {.a = "A", .b = "b", .kinds = kinds, .n_kinds = 1};
static const kg_systems systems = {.a = A, .b = RHS};
KG_SYSTEMS_FUNCTIONS(systems, 1.0 / 3)

static int cases(kg_cases *b) {
    static const int64_t more[][2] = {{4, 4}, {9, 1}, {7, 17}, {12, 12}, {24, 2}, {31, 33}, {3, 40}};
    static const int64_t orders[] = {4, 8, 16, 32, 64, 128, 256, 512, 0};
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_system_timed(b, &family, orders, 256, 1);
        return 0;
    }
    kg_system_cases(b, &family);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        kg_system_add(b, &family, kinds[0], KG_F32, 0, NULL, more[i][0], more[i][1]);
    return 0;
}

const kg_task kg_task_kbx_fused_cholesky_solve = {
    .name = "fused_cholesky_solve",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_cholesky_solve(A, b) -> Tensor",
    .summary = "The solution x of A x = b for a symmetric positive definite A, by its Cholesky factor.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A, b: torch.cholesky_solve(b, torch.linalg.cholesky(A))",
    .c_items = "1",
    .c_body = KG_BODY_SYSTEM("A", "b", "false", "", KG_BODY_ELEMENT("A"), KG_BODY_SIDE("b")),
};
