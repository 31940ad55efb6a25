# kgate: task=gap22/logsumexp
"""A block a row, once for the largest value and once for the sum; halves are converted before and after."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def logsumexp_kernel(dtype, threads=256):
    M, N = T.dynamic("M"), T.dynamic("N")

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M,), dtype)):
        with T.Kernel(M, threads=threads) as row:
            x = T.alloc_fragment((threads,), dtype)
            m = T.alloc_fragment((1,), dtype)
            s = T.alloc_fragment((1,), dtype)
            T.fill(x, -T.infinity(dtype))
            for k in T.serial(T.ceildiv(N, threads)):
                for i in T.Parallel(threads):
                    if k * threads + i < N:
                        x[i] = T.max(x[i], X[row, k * threads + i])
            T.reduce_max(x, m, dim=0)
            m[0] = T.if_then_else(T.abs(m[0]) == T.infinity(dtype), T.cast(0, dtype), m[0])
            T.clear(x)
            for k in T.serial(T.ceildiv(N, threads)):
                for i in T.Parallel(threads):
                    if k * threads + i < N:
                        x[i] += T.exp(X[row, k * threads + i] - m[0])
            T.reduce_sum(x, s, dim=0)
            Y[row] = m[0] + T.log(s[0])

    return tilelang.compile(main)


def logsumexp(input, dim, keepdim=False):
    dims = sorted(d % max(input.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim))
    kept = [d for d in range(input.ndim) if d not in dims]
    y = torch.full([input.shape[d] for d in kept], -float("inf"), dtype=input.dtype, device=input.device)
    if input.numel():
        half = input.dtype in (torch.float16, torch.bfloat16)
        x = input.permute(kept + dims).reshape(y.numel(), -1) if input.ndim else input.reshape(1, 1)
        x = (x.float() if half else x).contiguous()
        result = torch.empty(y.numel(), dtype=x.dtype, device=x.device)
        logsumexp_kernel(str(x.dtype).removeprefix("torch."))(x, result)
        y = result.to(input.dtype).view(y.shape)
    for d in dims if keepdim and input.ndim else ():
        y = y.unsqueeze(d)
    return y
