# kgate: task=gap22/attention
"""Chunks of 64 steps: within a chunk as a masked product, before it through a state of depth x 64 columns, by T.gemm."""
import functools
import math

import tilelang
import tilelang.language as T
import torch
import torch.nn.functional as F


@functools.cache
def attention_kernel(dtype, depth, chunk=64, columns=64):
    H, S, E = T.dynamic("H"), T.dynamic("S"), T.dynamic("E")

    @T.prim_func
    def main(
        Q: T.Tensor((H, S, depth), dtype),
        K: T.Tensor((H, S, depth), dtype),
        V: T.Tensor((H, S, E), dtype),
        O: T.Tensor((H, S, E), dtype),
        scale: T.float64,
    ):
        with T.Kernel(T.ceildiv(E, columns), H, threads=128) as (column, h):
            q = T.alloc_shared((chunk, depth), dtype)
            k = T.alloc_shared((chunk, depth), dtype)
            v = T.alloc_shared((chunk, columns), dtype)
            w = T.alloc_fragment((chunk, chunk), "float32")
            w_shared = T.alloc_shared((chunk, chunk), dtype)
            state = T.alloc_fragment((depth, columns), "float32")
            state_shared = T.alloc_shared((depth, columns), dtype)
            o = T.alloc_fragment((chunk, columns), "float32")
            T.clear(state)
            for c in T.serial(T.ceildiv(S, chunk)):
                T.copy(Q[h, c * chunk, 0], q)
                T.copy(K[h, c * chunk, 0], k)
                T.copy(V[h, c * chunk, column * columns], v)
                T.copy(state, state_shared)
                T.clear(w)
                T.gemm(q, k, w, transpose_B=True)
                for i, j in T.Parallel(chunk, chunk):
                    w[i, j] = T.if_then_else(i >= j, w[i, j], 0)
                T.copy(w, w_shared)
                T.clear(o)
                T.gemm(q, state_shared, o)
                T.gemm(w_shared, v, o)
                T.gemm(k, v, state, transpose_A=True)
                for i, j in T.Parallel(chunk, columns):
                    if c * chunk + i < S and column * columns + j < E:
                        O[h, c * chunk + i, column * columns + j] = T.cast(o[i, j] * T.cast(scale, "float32"), dtype)

    return tilelang.compile(main)


@functools.cache
def attention_kernel_any(dtype, keys=128):
    """For float64 and for heads too deep for a state: a query a block, products in loops."""
    H, S, D, E = T.dynamic("H"), T.dynamic("S"), T.dynamic("D"), T.dynamic("E")

    @T.prim_func
    def main(
        Q: T.Tensor((H, S, D), dtype),
        K: T.Tensor((H, S, D), dtype),
        V: T.Tensor((H, S, E), dtype),
        O: T.Tensor((H, S, E), dtype),
        scale: T.float64,
    ):
        with T.Kernel(S, H, threads=keys) as (t, h):
            w = T.alloc_shared((keys,), dtype)
            dot = T.alloc_fragment((keys,), dtype)
            out = T.alloc_fragment((keys,), dtype)
            for column in T.serial(T.ceildiv(E, keys)):
                T.clear(out)
                for k in T.serial(T.ceildiv(t + 1, keys)):
                    T.clear(dot)
                    for d in T.serial(D):
                        for i in T.Parallel(keys):
                            if k * keys + i <= t:
                                dot[i] += Q[h, t, d] * K[h, k * keys + i, d]
                    T.copy(dot, w)
                    for s in T.serial(T.min(keys, t + 1 - k * keys)):
                        for i in T.Parallel(keys):
                            if column * keys + i < E:
                                out[i] += w[s] * V[h, k * keys + s, column * keys + i]
                for i in T.Parallel(keys):
                    if column * keys + i < E:
                        O[h, t, column * keys + i] = out[i] * T.cast(scale, dtype)

    return tilelang.compile(main)


def attention(q, k, v, *, scale=None):
    given, shape, (S, D), E = q.dtype, v.shape, q.shape[-2:], v.shape[-1]
    scale = D**-0.5 if scale is None else scale
    heads = math.prod(q.shape[:-2])
    if not v.numel():
        return torch.empty_like(v)
    q, k, v = (x.reshape(heads, S, -1) for x in (q, k, v))
    if given == torch.float64 or D > 128:
        wide = torch.float64 if given == torch.float64 else torch.float32
        q, k, v = (x.to(wide).contiguous() for x in (q, k, v))
        o = torch.empty_like(v)
        attention_kernel_any(str(wide).removeprefix("torch."))(q, k, v, o, scale)
        return o.to(given).view(shape)
    depth = 64 if D <= 64 else 128
    q, k, v = F.pad(q, (0, depth - D)), F.pad(k, (0, depth - D)), F.pad(v, (0, -E % 8))  # rows of whole 16 bytes
    o = torch.empty(heads, S, v.shape[-1], dtype=given, device=v.device)
    attention_kernel(str(given).removeprefix("torch."), depth)(q.contiguous(), k.contiguous(), v.contiguous(), o, scale)
    return o[:, :, :E].reshape(shape)
