// matmul_bf16(input: Tensor, other: Tensor) -> Tensor
//
// bfloat16 in and out, accumulated in float32: a sum in half precision is not within the bounds.
#include "task/products.h"

static int cases(kg_cases *b) { return kg_matmul_cases(b, KG_BF16); }

const kg_task kg_task_kbx_matmul_bf16 = {
    .name = "matmul_bf16",
    .signature = "matmul_bf16(input: Tensor, other: Tensor) -> Tensor",
    .summary = "Product of two bfloat16 tensors in torch.matmul's shapes, accumulated in float32.",
    .params = kg_params_matmul_half,
    .lowest = KG_PREC_FP16,
    .cases = cases,
    .cpu_baseline = "onednn",
    .cuda_baseline = "cublaslt",
    KG_MATMUL_TASK,
};
