// matmul(input, other, *, out=None) -> Tensor
//
// kbx's matmul, timed at the published sizes (data/gap22_published.csv).
#include "task/products.h"

static int cases(kg_cases *b) {
    if (b->level != KG_TIMED_CUDA) return kg_matmul_cases(b, KG_DTYPES);
    for (int64_t n = 512; n <= 16384; n *= 32) {
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(n, n), KG_FACTORS);
        kg_set_tensor(c, b->task, "other", KG_F16, KG_SHAPE(n, n), KG_FACTORS);
    }
    return 0;
}

const kg_task kg_task_gap22_matmul = {
    .name = "matmul",
    .suite = "gap22",
    .signature = "matmul(input, other, *, out=None) -> Tensor",
    .summary = "Product of two tensors: dot, matrix-vector, matrix-matrix or batched by their numbers of dimensions.",
    .params = kg_params_matmul,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .cpu_baseline = "openblas",
    .cuda_baseline = "cublaslt",
    KG_MATMUL_OPERATION,
};
