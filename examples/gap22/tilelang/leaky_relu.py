# kgate: task=gap22/leaky_relu
"""A product in tiles of 128 x 128, T.gemm over steps of 32, two stages; the slope before the store. float32 works in TF32."""
import functools

import tilelang
import tilelang.language as T
import torch
import torch.nn.functional as F


@functools.cache
def product_kernel(dtype, block_m=128, block_n=128, block_k=32):
    batch, M, N, K = T.dynamic("batch"), T.dynamic("M"), T.dynamic("N"), T.dynamic("K")

    @T.prim_func
    def main(
        A: T.Tensor((batch, M, K), dtype),
        B: T.Tensor((batch, K, N), dtype),
        C: T.Tensor((batch, M, N), dtype),
        slope: T.float64,
    ):
        with T.Kernel(T.ceildiv(N, block_n), T.ceildiv(M, block_m), batch, threads=128) as (bx, by, bz):
            a = T.alloc_shared((block_m, block_k), dtype)
            b = T.alloc_shared((block_k, block_n), dtype)
            c = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_k), num_stages=2):
                T.copy(A[bz, by * block_m, k * block_k], a)
                T.copy(B[bz, k * block_k, bx * block_n], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(block_m, block_n):
                c[i, j] = T.if_then_else(c[i, j] < 0, T.cast(slope, "float32") * c[i, j], c[i, j])
            T.copy(c, C[bz, by * block_m, bx * block_n])

    return tilelang.compile(main)


@functools.cache
def product_kernel_fp64(block=16):
    """The tensor cores' float64 is out of T.gemm's reach: a multiply-add at a time."""
    batch, M, N, K = T.dynamic("batch"), T.dynamic("M"), T.dynamic("N"), T.dynamic("K")

    @T.prim_func
    def main(
        A: T.Tensor((batch, M, K), "float64"),
        B: T.Tensor((batch, K, N), "float64"),
        C: T.Tensor((batch, M, N), "float64"),
        slope: T.float64,
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), batch, threads=block * block) as (bx, by, bz):
            c = T.alloc_fragment((block, block), "float64")
            T.clear(c)
            for k in T.serial(K):
                for i, j in T.Parallel(block, block):
                    if by * block + i < M and bx * block + j < N:
                        c[i, j] += A[bz, by * block + i, k] * B[bz, k, bx * block + j]
            for i, j in T.Parallel(block, block):
                if by * block + i < M and bx * block + j < N:
                    C[bz, by * block + i, bx * block + j] = T.if_then_else(c[i, j] < 0, slope * c[i, j], c[i, j])

    return tilelang.compile(main)


def padded(x, rows, columns):
    """Tensor memory accesses want rows of a multiple of 16 bytes."""
    return F.pad(x, (0, columns - x.shape[-1], 0, rows - x.shape[-2])).contiguous()


def leaky_relu(input, other, *, negative_slope=0.01):
    a = input.unsqueeze(0) if input.ndim == 1 else input
    b = other.unsqueeze(1) if other.ndim == 1 else other
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    if 0 in batch + (m, n, k):
        c = a.new_zeros(batch + (m, n))
    else:
        align = 1 if a.dtype == torch.float64 else 16 // a.element_size()
        wide_k, wide_n = -(-k // align) * align, -(-n // align) * align
        a = padded(a.expand(batch + (m, k)).reshape(-1, m, k), m, wide_k)
        b = padded(b.expand(batch + (k, n)).reshape(-1, k, n), wide_k, wide_n)
        c = a.new_empty(a.shape[0], m, wide_n)
        kernel = product_kernel_fp64() if a.dtype == torch.float64 else product_kernel(str(a.dtype).removeprefix("torch."))
        kernel(a, b, c, negative_slope)
        c = c[:, :, :n].reshape(batch + (m, n))
    c = c.squeeze(-2) if input.ndim == 1 else c
    c = c.squeeze(-1) if other.ndim == 1 else c
    return c.contiguous()
