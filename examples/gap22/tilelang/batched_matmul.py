# kgate: task=gap22/batched_matmul
"""A row of A against 64 rows of B a block, one product a thread; halves are converted before and after."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def batched_kernel(dtype, block_n=64):
    M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((M, N, K), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_n), M, threads=block_n) as (bx, m):
            c = T.alloc_fragment((block_n,), dtype)
            T.clear(c)
            for k in T.serial(K):
                for j in T.Parallel(block_n):
                    if bx * block_n + j < N:
                        c[j] += A[m, k] * B[m, bx * block_n + j, k]
            for j in T.Parallel(block_n):
                if bx * block_n + j < N:
                    C[m, bx * block_n + j] = c[j]

    return tilelang.compile(main)


def batched_matmul(A, B):
    dtype = torch.float64 if A.dtype == torch.float64 else torch.float32
    c = torch.zeros(B.shape[:2], dtype=dtype, device=B.device)
    if B.numel():
        batched_kernel(str(dtype).removeprefix("torch."))(A.to(dtype).contiguous(), B.to(dtype).contiguous(), c)
    return c.to(A.dtype)
