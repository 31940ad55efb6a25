# kgate: task=gap22/softmax
"""A block a row in its own dtype, streamed in blocks of 4 KB: largest and sum in one pass, the quotients in another."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def softmax_kernel(dtype, vec, threads=256):
    M, n = T.dynamic("M"), T.dynamic("n")
    wide = "float64" if dtype == "float64" else "float32"

    @T.prim_func
    def main(X: T.Tensor((M, n, vec), dtype), Y: T.Tensor((M, n, vec), dtype)):
        with T.Kernel(M, threads=threads) as row:
            x = T.alloc_fragment((threads, vec), wide)
            m = T.alloc_fragment((threads,), wide)
            s = T.alloc_fragment((threads,), wide)
            larger = T.alloc_fragment((threads,), wide)
            part = T.alloc_fragment((threads,), wide)
            row_max = T.alloc_fragment((1,), wide)
            row_sum = T.alloc_fragment((1,), wide)
            T.fill(m, T.min_value(wide))
            T.clear(s)
            for k in T.serial(T.ceildiv(n, threads)):
                T.fill(x, -T.infinity(wide))
                for i, j in T.Parallel(threads, vec):
                    if k * threads + i < n:
                        x[i, j] = T.cast(X[row, k * threads + i, j], wide)
                T.reduce_max(x, larger, dim=1)
                for i in T.Parallel(threads):
                    larger[i] = T.max(larger[i], m[i])
                    s[i] = s[i] * T.exp(m[i] - larger[i])
                    m[i] = larger[i]
                for i, j in T.Parallel(threads, vec):
                    x[i, j] = T.exp(x[i, j] - m[i])
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(threads):
                    s[i] += part[i]
            T.reduce_max(m, row_max, dim=0)
            for i in T.Parallel(threads):
                s[i] = s[i] * T.exp(m[i] - row_max[0])
            T.reduce_sum(s, row_sum, dim=0)
            for k in T.serial(T.ceildiv(n, threads)):
                for i, j in T.Parallel(threads, vec):
                    if k * threads + i < n:
                        Y[row, k * threads + i, j] = T.cast(T.exp(T.cast(X[row, k * threads + i, j], wide) - row_max[0]) / row_sum[0], dtype)

    return tilelang.compile(main)


def softmax(input, dim, dtype=None):
    x = input.to(dtype or input.dtype)
    x = x.movedim(dim, -1).contiguous() if x.ndim else x.reshape(1)
    y = torch.empty_like(x)
    if x.numel():
        n, vec = x.shape[-1], 16 // x.element_size()
        vec = vec if n % vec == 0 else 1
        kernel = softmax_kernel(str(x.dtype).removeprefix("torch."), vec)
        kernel(x.view(-1, n // vec, vec), y.view(-1, n // vec, vec))
    return (y.movedim(-1, dim) if input.ndim else y.reshape(())).contiguous()
