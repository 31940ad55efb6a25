# kgate: task=gap22/mul
"""Twice the input, 16 bytes a thread."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def mul_kernel(dtype, vec, threads=256):
    n = T.dynamic("n")

    @T.prim_func
    def main(X: T.Tensor((n, vec), dtype), Y: T.Tensor((n, vec), dtype)):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as b:
            for i, j in T.Parallel(threads, vec):
                if b * threads + i < n:
                    Y[b * threads + i, j] = X[b * threads + i, j] + X[b * threads + i, j]

    return tilelang.compile(main)


def mul(input):
    x = input.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        vec = 16 // x.element_size()
        vec = vec if x.numel() % vec == 0 else 1
        mul_kernel(str(x.dtype).removeprefix("torch."), vec)(x.view(-1, vec), y.view(-1, vec))
    return y
