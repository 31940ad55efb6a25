# kgate: task=gap22/swiglu
"""silu of the first half of each row times the second, 16 bytes a thread; a block stays in one row."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def swiglu_kernel(dtype, vec, threads=256):
    M, n = T.dynamic("M"), T.dynamic("n")
    wide = "float64" if dtype == "float64" else "float32"

    @T.prim_func
    def main(XY: T.Tensor((M, 2, n, vec), dtype), Z: T.Tensor((M, n, vec), dtype)):
        with T.Kernel(M, T.ceildiv(n, threads), threads=threads) as (row, b):
            for i, j in T.Parallel(threads, vec):
                if b * threads + i < n:
                    x = T.cast(XY[row, 0, b * threads + i, j], wide)
                    y = T.cast(XY[row, 1, b * threads + i, j], wide)
                    Z[row, b * threads + i, j] = T.cast(x / (1 + T.exp(-x)) * y, dtype)

    return tilelang.compile(main)


def swiglu(xy):
    xy = xy.contiguous()
    n = xy.shape[-1] // 2
    z = torch.empty(xy.shape[:-1] + (n,), dtype=xy.dtype, device=xy.device)
    if z.numel():
        vec = 16 // xy.element_size()
        vec = vec if n % vec == 0 else 1
        kernel = swiglu_kernel(str(xy.dtype).removeprefix("torch."), vec)
        kernel(xy.view(-1, 2, n // vec, vec), z.view(-1, n // vec, vec))
    return z
