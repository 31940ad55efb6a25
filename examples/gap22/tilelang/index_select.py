# kgate: task=gap22/index_select
"""Copies one slice a block, 16 bytes a thread where a slice is a multiple of that."""
import functools
import math

import tilelang
import tilelang.language as T
import torch

BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@functools.cache
def select_kernel(dtype, index_dtype, vec, threads=128):
    O, R, V, n = T.dynamic("O"), T.dynamic("R"), T.dynamic("V"), T.dynamic("n")

    @T.prim_func
    def main(I: T.Tensor((R,), index_dtype), X: T.Tensor((O, V, n, vec), dtype), Y: T.Tensor((O, R, n, vec), dtype)):
        with T.Kernel(O * R, threads=threads) as slot:
            outer = slot // R
            row = slot % R
            for k in T.serial(T.ceildiv(n, threads)):
                for i, j in T.Parallel(threads, vec):
                    if k * threads + i < n:
                        Y[outer, row, k * threads + i, j] = X[outer, I[row], k * threads + i, j]

    return tilelang.compile(main)


def index_select(input, dim, index):
    shape = list(input.shape) if input.ndim else [1]
    dim %= len(shape)
    rows, n = shape[dim], math.prod(shape[dim + 1 :])
    shape[dim] = index.numel()
    y = torch.empty(shape if input.ndim else (), dtype=input.dtype, device=input.device)
    if y.numel():
        bits = BITS[input.element_size()]
        vec = 16 // input.element_size()
        vec = vec if n % vec == 0 else 1
        kernel = select_kernel(str(bits).removeprefix("torch."), str(index.dtype).removeprefix("torch."), vec)
        x = input.contiguous().view(-1).view(bits).view(-1, rows, n // vec, vec)
        kernel(index.contiguous().view(-1), x, y.view(-1).view(bits).view(-1, index.numel(), n // vec, vec))
    return y
