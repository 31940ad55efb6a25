// det(A, *, out=None) -> Tensor
//
// torch.linalg.det: A is (*, n, n), the result (*), 1 where n is 0. Singular matrices have the determinant 0, within
// what rounding may make of it. Those that hold a NaN are no cases: PyTorch has NaN on the CPU and 0 on a GPU. Cases
// and bound: src/task/determinants.h.
#include "task/determinants.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_det_timed(b, 8192);
        return 0;
    }
    kg_det_cases(b);
    kg_give_out(b, kg_det_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){3}, 5));
    return 0;
}

const kg_task kg_task_kbx_det = {
    .name = "det",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "det(A, *, out=None) -> Tensor",
    .summary = "The determinants of square matrices.",
    .params = params,
    .outputs = kg_outputs_det,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_det_infer,
    .held = 1,
    .holds = kg_det_holds,
    .work = kg_det_work,
    .torch_baseline = "torch.linalg.det",
    .c_items = kg_det_items,
    .c_body = kg_det_body,
};
