# kgate: task=gap22/attention
"""A block a query: the products with the keys before it, 128 at a time, in loops; then their sum of values. No T.gemm."""
import functools
import math

import tilelang
import tilelang.language as T
import torch


@functools.cache
def attention_kernel(dtype, keys=128):
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
    given, dtype = q.dtype, torch.float64 if q.dtype == torch.float64 else torch.float32
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    S, D, E = q.shape[-2], q.shape[-1], v.shape[-1]
    heads = math.prod(q.shape[:-2])
    o = torch.empty(v.shape, dtype=dtype, device=v.device)
    if o.numel():
        q, k, v = (x.to(dtype).contiguous().view(heads, S, -1) for x in (q, k, v))
        attention_kernel(str(dtype).removeprefix("torch."))(q, k, v, o.view(heads, S, E), scale)
    return o.to(given)
