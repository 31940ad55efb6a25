// matmul(input, other, *, out=None) -> Tensor
//
// All of torch.matmul's shapes: vectors, matrices, batches that broadcast. See src/oracle/product.c for the bounds.
#include "task/products.h"

static int cases(kg_cases *b) { return kg_matmul_cases(b, KG_DTYPES); }

const kg_task kg_task_kbx_matmul = {
    .name = "matmul",
    .signature = "matmul(input, other, *, out=None) -> Tensor",
    .summary = "Product of two tensors: dot, matrix-vector, matrix-matrix or batched by their numbers of dimensions.",
    .params = kg_params_matmul,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .cpu_baseline = "openblas",
    .cuda_baseline = "cublaslt",
    KG_MATMUL_TASK,
};
