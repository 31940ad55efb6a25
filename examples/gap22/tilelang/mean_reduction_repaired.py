# kgate: task=gap22/mean_reduction
"""A block a row in its own dtype, 16 bytes a thread, and T.reduce_sum at its end."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def mean_kernel(dtype, vec, threads=256):
    M, n = T.dynamic("M"), T.dynamic("n")
    wide = "float64" if dtype == "float64" else "float32"

    @T.prim_func
    def main(X: T.Tensor((M, n, vec), dtype), Y: T.Tensor((M,), dtype)):
        with T.Kernel(M, threads=threads) as row:
            total = T.alloc_fragment((threads, vec), wide)
            by_thread = T.alloc_fragment((threads,), wide)
            row_total = T.alloc_fragment((1,), wide)
            T.clear(total)
            for k in T.serial(T.ceildiv(n, threads)):
                for i, j in T.Parallel(threads, vec):
                    if k * threads + i < n:
                        total[i, j] += T.cast(X[row, k * threads + i, j], wide)
            T.reduce_sum(total, by_thread, dim=1)
            T.reduce_sum(by_thread, row_total, dim=0)
            Y[row] = T.cast(row_total[0] / (n * vec), dtype)

    return tilelang.compile(main)


def mean_reduction(input, dim, keepdim=False):
    dims = sorted(d % max(input.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim))
    kept = [d for d in range(input.ndim) if d not in dims]
    y = torch.full([input.shape[d] for d in kept], float("nan"), dtype=input.dtype, device=input.device)
    if input.numel():
        x = input.permute(kept + dims).reshape(y.numel(), -1) if input.ndim else input.reshape(1, 1)
        n, vec = x.shape[1], 16 // x.element_size()
        vec = vec if n % vec == 0 else 1
        mean_kernel(str(x.dtype).removeprefix("torch."), vec)(x.contiguous().view(-1, n // vec, vec), y.view(-1))
    for d in dims if keepdim and input.ndim else ():
        y = y.unsqueeze(d)
    return y
