# kgate: task=gap22/layer_norm
"""Layer norm in float32, the whole row held in one block. Slow in half precision: input, weight and
bias are converted to float32 copies first and the result back after, in passes of their own."""
import struct

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, eps_rest, BLOCK: tl.constexpr,
                      WEIGHT: tl.constexpr, BIAS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < n
    x = tl.load(x_ptr + row * n + column, mask=mask, other=0.0)
    d = tl.where(mask, x - tl.sum(x, 0) / n, 0.0)
    y = d / tl.sqrt(tl.sum(d * d, 0) / n + eps + eps_rest)
    if WEIGHT:
        y *= tl.load(w_ptr + column, mask=mask, other=0.0)
    if BIAS:
        y += tl.load(b_ptr + column, mask=mask, other=0.0)
    tl.store(out_ptr + row * n + column, y, mask=mask)


def parts(value):
    """Kernels get a Python float in float32: what that rounds away comes beside it."""
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def at_least_float(t):
    return (t if t.dtype == torch.float64 else t.float()).contiguous()


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    dims = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    x = at_least_float(input)
    out = torch.empty_like(x)
    if x.numel():
        n = x[(0,) * (x.dim() - dims)].numel()
        w = x if weight is None else at_least_float(weight)
        b = x if bias is None else at_least_float(bias)
        layer_norm_kernel[(x.numel() // n,)](
            x, w, b, out, n, *parts(eps), BLOCK=triton.next_power_of_2(n),
            WEIGHT=weight is not None, BIAS=bias is not None)
    return out.to(input.dtype)
