// matmul_fp16(input: Tensor, other: Tensor) -> Tensor
//
// float16 in and out, accumulated in float32: a sum in half precision is not within the bounds.
#include "task/products.h"

static int cases(kg_cases *b) { return kg_matmul_cases(b, KG_F16); }

const kg_task kg_task_kbx_matmul_fp16 = {
    .name = "matmul_fp16",
    .signature = "matmul_fp16(input: Tensor, other: Tensor) -> Tensor",
    .summary = "Product of two float16 tensors in torch.matmul's shapes, accumulated in float32.",
    .params = kg_params_matmul_half,
    .lowest = KG_PREC_FP16,
    .cases = cases,
    .cpu_baseline = "onednn",
    .cuda_baseline = "cublaslt",
    KG_MATMUL_TASK,
};
