# kgate: task=gap22/mean_reduction
"""A block a row, whose values it goes through one after the other; halves are converted before and after."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def mean_kernel(dtype, threads=128):
    M, N = T.dynamic("M"), T.dynamic("N")

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M,), dtype)):
        with T.Kernel(M, threads=threads) as row:
            total = T.alloc_local((1,), dtype)
            total[0] = 0
            for j in T.serial(N):
                total[0] += X[row, j]
            Y[row] = total[0] / N

    return tilelang.compile(main)


def mean_reduction(input, dim, keepdim=False):
    dims = sorted(d % max(input.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim))
    kept = [d for d in range(input.ndim) if d not in dims]
    y = torch.full([input.shape[d] for d in kept], float("nan"), dtype=input.dtype, device=input.device)
    if input.numel():
        half = input.dtype in (torch.float16, torch.bfloat16)
        x = input.permute(kept + dims).reshape(y.numel(), -1) if input.ndim else input.reshape(1, 1)
        x = (x.float() if half else x).contiguous()
        result = torch.empty(y.numel(), dtype=x.dtype, device=x.device)
        mean_kernel(str(x.dtype).removeprefix("torch."))(x, result)
        y = result.to(input.dtype).view(y.shape)
    for d in dims if keepdim and input.ndim else ():
        y = y.unsqueeze(d)
    return y
