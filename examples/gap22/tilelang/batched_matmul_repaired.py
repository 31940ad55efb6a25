# kgate: task=gap22/batched_matmul
"""A warp a row of B, in its own dtype and 16 bytes a thread: rows of B pass once, a row of A stays near."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def batched_kernel(dtype, vec, rows=8, lanes=32):
    M, N, n = T.dynamic("M"), T.dynamic("N"), T.dynamic("n")
    wide = "float64" if dtype == "float64" else "float32"

    @T.prim_func
    def main(A: T.Tensor((M, n, vec), dtype), B: T.Tensor((M, N, n, vec), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, rows), M, threads=rows * lanes) as (bx, m):
            part = T.alloc_fragment((rows, lanes, vec), wide)
            by_lane = T.alloc_fragment((rows, lanes), wide)
            c = T.alloc_fragment((rows,), wide)
            T.clear(part)
            for k in T.serial(T.ceildiv(n, lanes)):
                for r, i, j in T.Parallel(rows, lanes, vec):
                    if bx * rows + r < N and k * lanes + i < n:
                        part[r, i, j] += T.cast(A[m, k * lanes + i, j], wide) * T.cast(B[m, bx * rows + r, k * lanes + i, j], wide)
            T.reduce_sum(part, by_lane, dim=2)
            T.reduce_sum(by_lane, c, dim=1)
            for r in T.Parallel(rows):
                if bx * rows + r < N:
                    C[m, bx * rows + r] = T.cast(c[r], dtype)

    return tilelang.compile(main)


def batched_matmul(A, B):
    c = torch.zeros(B.shape[:2], dtype=B.dtype, device=B.device)
    if B.numel():
        (M, N, K), vec = B.shape, 16 // B.element_size()
        vec = vec if K % vec == 0 else 1
        kernel = batched_kernel(str(B.dtype).removeprefix("torch."), vec)
        kernel(A.contiguous().view(M, K // vec, vec), B.contiguous().view(M, N, K // vec, vec), c)
    return c
