# kgate: task=gap22/argmax
"""A block a row in its own dtype, 16 bytes a thread; the first of the largest by T.reduce_max and T.reduce_min."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def argmax_kernel(dtype, vec, threads=256):
    M, n = T.dynamic("M"), T.dynamic("n")
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    lowest = -T.infinity(wide) if "float" in dtype else T.min_value(wide)
    nowhere = 2**31 - 1

    @T.prim_func
    def main(X: T.Tensor((M, n, vec), dtype), Y: T.Tensor((M,), "int64")):
        with T.Kernel(M, threads=threads) as row:
            largest = T.alloc_fragment((threads, vec), wide)
            where = T.alloc_fragment((threads, vec), "int32")
            invalid = T.alloc_fragment((threads, vec), "int32")
            by_thread = T.alloc_fragment((threads,), wide)
            first = T.alloc_fragment((threads,), "int32")
            row_max = T.alloc_fragment((1,), wide)
            row_where = T.alloc_fragment((1,), "int32")
            row_invalid = T.alloc_fragment((1,), "int32")
            for i, j in T.Parallel(threads, vec):
                largest[i, j] = lowest
                where[i, j] = nowhere
                invalid[i, j] = nowhere
            for k in T.serial(T.ceildiv(n, threads)):
                for i, j in T.Parallel(threads, vec):
                    if k * threads + i < n:
                        x = T.cast(X[row, k * threads + i, j], wide)
                        if x > largest[i, j] or where[i, j] == nowhere:
                            largest[i, j] = T.max(x, largest[i, j])
                            where[i, j] = (k * threads + i) * vec + j
                        here = T.if_then_else(T.isnan(x), (k * threads + i) * vec + j, nowhere)
                        invalid[i, j] = T.min(invalid[i, j], here)
            T.reduce_max(largest, by_thread, dim=1)
            T.reduce_max(by_thread, row_max, dim=0)
            for i, j in T.Parallel(threads, vec):
                where[i, j] = T.if_then_else(largest[i, j] == row_max[0], where[i, j], nowhere)
            T.reduce_min(where, first, dim=1)
            T.reduce_min(first, row_where, dim=0)
            T.reduce_min(invalid, first, dim=1)
            T.reduce_min(first, row_invalid, dim=0)
            row_where[0] = T.if_then_else(row_invalid[0] < nowhere, row_invalid[0], row_where[0])
            Y[row] = T.cast(row_where[0], "int64")

    return tilelang.compile(main)


def argmax(input, dim, keepdim=False):
    x = input.reshape(-1) if dim is None or not input.ndim else input.movedim(dim, -1)
    y = torch.empty(x.shape[:-1], dtype=torch.int64, device=x.device)
    if x.numel():
        n, vec = x.shape[-1], 16 // x.element_size()
        vec = vec if n % vec == 0 else 1
        kernel = argmax_kernel(str(x.dtype).removeprefix("torch."), vec)
        kernel(x.contiguous().view(-1, n // vec, vec), y.view(-1))
    if keepdim:
        y = y.view([1] * input.ndim) if dim is None else y.unsqueeze(dim) if input.ndim else y
    return y
