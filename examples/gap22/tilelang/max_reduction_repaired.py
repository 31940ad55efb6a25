# kgate: task=gap22/max_reduction
"""A block a row in its own dtype, 16 bytes a thread, and T.reduce_max at its end."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def max_kernel(dtype, vec, threads=256):
    M, n = T.dynamic("M"), T.dynamic("n")
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    lowest, nan = (-T.infinity(wide), float("nan")) if "float" in dtype else (T.min_value(wide), 0)

    @T.prim_func
    def main(X: T.Tensor((M, n, vec), dtype), Y: T.Tensor((M,), dtype)):
        with T.Kernel(M, threads=threads) as row:
            largest = T.alloc_fragment((threads, vec), wide)
            invalid = T.alloc_fragment((threads, vec), "int32")
            by_thread = T.alloc_fragment((threads,), wide)
            invalid_by_thread = T.alloc_fragment((threads,), "int32")
            row_max = T.alloc_fragment((1,), wide)
            row_invalid = T.alloc_fragment((1,), "int32")
            T.fill(largest, lowest)
            T.clear(invalid)
            for k in T.serial(T.ceildiv(n, threads)):
                for i, j in T.Parallel(threads, vec):
                    if k * threads + i < n:
                        largest[i, j] = T.max(largest[i, j], T.cast(X[row, k * threads + i, j], wide))
                        invalid[i, j] |= T.cast(T.isnan(T.cast(X[row, k * threads + i, j], wide)), "int32")
            T.reduce_max(largest, by_thread, dim=1)
            T.reduce_max(by_thread, row_max, dim=0)
            T.reduce_max(invalid, invalid_by_thread, dim=1)
            T.reduce_max(invalid_by_thread, row_invalid, dim=0)
            Y[row] = T.if_then_else(row_invalid[0] > 0, T.cast(nan, dtype), T.cast(row_max[0], dtype))

    return tilelang.compile(main)


def max_reduction(input, dim, keepdim=False):
    dims = sorted(d % max(input.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim))
    kept = [d for d in range(input.ndim) if d not in dims]
    y = torch.empty([input.shape[d] for d in kept], dtype=input.dtype, device=input.device)
    if input.numel():
        x = input.permute(kept + dims).reshape(y.numel(), -1) if input.ndim else input.reshape(1, 1)
        n, vec = x.shape[1], 16 // x.element_size()
        vec = vec if n % vec == 0 else 1
        max_kernel(str(x.dtype).removeprefix("torch."), vec)(x.contiguous().view(-1, n // vec, vec), y.view(-1))
    for d in dims if keepdim and input.ndim else ():
        y = y.unsqueeze(d)
    return y
