// determinant_via_qr(A, *, mode='reduced', out=None) -> Tensor
//
// The determinant from a QR factorisation: det(Q) prod(R_ii), det(Q) being a sign, or a number of modulus 1 where A is
// complex: without it the sign is wrong in half the cases. mode is torch.linalg.qr's, 'reduced' or 'complete', which
// for square matrices are the same; 'r' has no Q and is no case. Cases and bound: src/task/determinants.h.
#include "task/determinants.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "mode", .kind = KG_P_STR, .optional = true, .keyword = true, .has_default = true, .text = "reduced"},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

static void moded(kg_cases *b, kg_dtype t, int64_t n, const char *mode) {
    kg_set_str(kg_det_add(b, KG_FILL_NORMAL, t, 0, NULL, n), b->task, "mode", mode);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_det_timed(b, 8192);
        return 0;
    }
    kg_det_cases(b);
    kg_give_out(b, kg_det_add(b, KG_FILL_NORMAL, KG_F32, 1, (int64_t[]){3}, 5));
    moded(b, KG_F32, 6, "reduced");
    moded(b, KG_F32, 7, "complete");
    moded(b, KG_C64, 4, "complete");
    moded(b, KG_F64, 3, "complete");
    return 0;
}

const kg_task kg_task_kbx_determinant_via_qr = {
    .name = "determinant_via_qr",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "determinant_via_qr(A, *, mode='reduced', out=None) -> Tensor",
    .summary = "The determinants of square matrices, by QR factorisation.",
    .params = params,
    .outputs = kg_outputs_det,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_det_infer,
    .held = 1,
    .holds = kg_det_holds,
    .work = kg_det_work,
    .torch_baseline = "lambda A, *, mode='reduced', out=None: torch.linalg.det(A, out=out)",
    .c_items = kg_det_items,
    .c_body = kg_det_body,
};
