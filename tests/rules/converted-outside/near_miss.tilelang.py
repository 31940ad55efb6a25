import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def double_kernel(dtype, threads=256):
    n = T.dynamic("n")

    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as block:
            for i in T.Parallel(threads):
                if block * threads + i < n:
                    Y[block * threads + i] = X[block * threads + i] * 2

    return tilelang.compile(main)


def double(x):
    wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float16)
    out = torch.empty_like(wide)
    double_kernel(str(wide.dtype).removeprefix("torch."))(wide, out)
    return out.to(x.dtype)
