import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BK: tl.constexpr):
    m = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1).to(tl.int64)
    acc = 0.0
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m * K + k, mask=k < K, other=0.0)
        b = tl.load(b_ptr + k * N + n, mask=k < K, other=0.0)
        acc += tl.sum(a * b)
    tl.store(c_ptr + m * N + n, acc)
