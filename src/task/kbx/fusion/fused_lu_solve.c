// fused_lu_solve(A, b) -> Tensor
//
// A is (n, n), b is (n,), as the signature has them. Bound: src/oracle/matrices.h. Cyclic matrices have small leading
// pivots: a factorisation without pivoting fails there.
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR}, {.name = "b", .kind = KG_P_TENSOR}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, RHS };

static const kg_fill_kind kinds[] = {KG_FILL_RAISED, KG_FILL_CYCLIC, KG_FILL_NORMAL};
static const kg_system_family family = {.a = "A", .b = "b", .kinds = kinds, .n_kinds = 3, .vectors = true};
static const kg_systems systems = {.a = A, .b = RHS, .vectors = true, .pivot = true};
KG_SYSTEMS_FUNCTIONS(systems, 2.0 / 3)

static int cases(kg_cases *b) {
    static const int64_t more[] = {6, 8, 9, 12, 15, 24, 40, 63}, orders[] = {256, 512, 1024, 2048, 4096, 0};
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_system_timed(b, &family, orders, 256, 0);
        return 0;
    }
    kg_system_cases(b, &family);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        kg_system_add(b, &family, kinds[1 + i % 2], KG_F32, 0, NULL, more[i], 0);
    return 0;
}

const kg_task kg_task_kbx_fused_lu_solve = {
    .name = "fused_lu_solve",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_lu_solve(A, b) -> Tensor",
    .summary = "The solution x of A x = b, by LU factorisation with pivoting.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.solve",
    .c_items = "1",
    .c_body = KG_BODY_SYSTEM("A", "b", "true", "", KG_BODY_ELEMENT("A"), KG_BODY_SIDE("b")),
};
