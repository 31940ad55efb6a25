import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    n = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k, mask=(m[:, None] < M) & (k < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n, acc, mask=(m[:, None] < M) & (n < N))
