// solve_symmetric_ldl(A, b, *, hermitian=False, out=None) -> Tensor
//
// A is (*, n, n), real symmetric or complex: symmetric, and Hermitian with hermitian=True. Two cases in three are
// indefinite with small leading pivots, so that neither a Cholesky factor nor L D L^T without 2 by 2 blocks or
// exchanges does. b is (*, n, k), or (n,) or (*, n) by torch.linalg.solve's rule (A's shape without the last
// dimension); batch dimensions broadcast. The description reconstructs A and solves with it: the answer is that of A x
// = b. Which triangle is read is left open: A has both.
//
// Bound: src/oracle/matrices.h, of an elimination with pivoting; diagonal pivoting errs alike.
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "b", .kind = KG_P_TENSOR},
    {.name = "hermitian", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, RHS, HERMITIAN };

static const kg_fill_kind kinds[] = {KG_FILL_SYMMETRIC, KG_FILL_EXCHANGED, KG_FILL_EXCHANGED};
static const kg_system_family family = {
    .a = "A", .b = "b", .kinds = kinds, .complex = kinds, .n_kinds = 3, .vectors = true, .batches = true};
static const kg_systems systems = {.a = A, .b = RHS, .vectors = true, .pivot = true};
KG_SYSTEMS_FUNCTIONS(systems, 1.0 / 3)

static void hermitian(kg_cases *b, kg_dtype t, int64_t n, int64_t k, bool definite) {
    kg_case *c = kg_system_add(b, &family, KG_FILL_HERMITIAN, t, 0, NULL, n, k);
    kg_set_bool(c, b->task, "hermitian", true);
    if (!definite) c->args[A].fill.b = 0;
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_system_timed(b, &family, (int64_t[]){8, 16, 32, 64, 128, 256, 512, 0}, 256, 1);
        return 0;
    }
    kg_case *c;
    kg_system_cases(b, &family);
    c = kg_system_add(b, &family, kinds[1], KG_F32, KG_SHAPE(3), 5, 2);
    kg_set_tensor(c, b->task, "b", KG_F32, KG_SHAPE(5, 2), KG_NORMAL(0.25, 1));  // for each matrix: no vectors
    hermitian(b, KG_C64, 17, 3, false);
    hermitian(b, KG_C64, 2, 1, true);
    hermitian(b, KG_C128, 9, 2, false);
    hermitian(b, KG_F32, 13, 2, false);
    kg_give_out(b, kg_system_add(b, &family, kinds[1], KG_F32, 0, NULL, 12, 3));
    c = kg_system_add(b, &family, kinds[1], KG_F32, KG_SHAPE(3), 5, 2);
    kg_set_tensor(c, b->task, "b", KG_F32, KG_SHAPE(3, 5), KG_NORMAL(0.25, 1));  // vectors
    return 0;
}

const kg_task kg_task_kbx_solve_symmetric_ldl = {
    .name = "solve_symmetric_ldl",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "solve_symmetric_ldl(A, b, *, hermitian=False, out=None) -> Tensor",
    .summary = "The solution x of A x = b for a symmetric or Hermitian A that may be indefinite.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A, b, *, hermitian=False, out=None: torch.linalg.solve(A, b, out=out)",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * (" KG_BODY_VECTOR(
        "A", "b") " ? 1 : kg_dim(b, -1)) + (kg_elements(out) == 0))",
    .c_body = KG_BODY_SYSTEM("A", "b", KG_BODY_VECTOR("A", "b"), "", KG_BODY_ELEMENT("A"), KG_BODY_SIDE("b")),
};
