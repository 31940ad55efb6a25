// determinant_lu(A, *, pivot=True, out=None) -> Tensor
//
// The determinant from an LU factorisation: sign(P) prod(U_ii). A is (*, n, n), the result (*), 1 where n is 0.
// pivot=False factorises without row exchanges (PyTorch's lu_factor has that on GPUs only): the same determinant where
// no pivot is small, which a raised diagonal sees to in those cases. Cases and bound: src/task/determinants.h.
#include "task/determinants.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "pivot", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

static void unpivoted(kg_cases *b, kg_fill_kind kind, kg_dtype t, int64_t n) {
    kg_set_bool(kg_det_add(b, kind, t, 0, NULL, n), b->task, "pivot", false);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_det_timed(b, 1024);
        return 0;
    }
    kg_det_cases(b);
    kg_give_out(b, kg_det_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){3}, 5));
    kg_set_bool(kg_det_add(b, KG_FILL_CYCLIC, KG_F32, 0, NULL, 6), b->task, "pivot", true);
    unpivoted(b, KG_FILL_RAISED, KG_F32, 6);
    unpivoted(b, KG_FILL_RAISED, KG_C64, 5);
    unpivoted(b, KG_FILL_RAISED, KG_F64, 13);
    unpivoted(b, KG_FILL_RANK_ONE, KG_F32, 33);
    return 0;
}

const kg_task kg_task_kbx_determinant_lu = {
    .name = "determinant_lu",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "determinant_lu(A, *, pivot=True, out=None) -> Tensor",
    .summary = "The determinants of square matrices, by LU factorisation with or without pivoting.",
    .params = params,
    .outputs = kg_outputs_det,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_det_infer,
    .held = 1,
    .holds = kg_det_holds,
    .work = kg_det_work,
    .torch_baseline = "lambda A, *, pivot=True, out=None: torch.linalg.det(A, out=out)",
    .c_items = kg_det_items,
    .c_body = kg_det_body,
};
