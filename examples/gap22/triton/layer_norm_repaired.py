# kgate: task=gap22/layer_norm
"""Layer norm, the whole row held in one block with enough warps for it; half precision is read and
written as it is, and converted in registers. The variance is that of the differences from the mean."""
import struct

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, eps_rest, BLOCK: tl.constexpr,
                      WEIGHT: tl.constexpr, BIAS: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < n
    x = tl.load(x_ptr + row * n + column, mask=mask, other=0.0)
    x = x.to(tl.float64 if DOUBLE else tl.float32)
    d = tl.where(mask, x - tl.sum(x, 0) / n, 0.0)
    y = d / tl.sqrt(tl.sum(d * d, 0) / n + eps + eps_rest)
    if WEIGHT:
        y *= tl.load(w_ptr + column, mask=mask, other=0.0).to(x.dtype)
    if BIAS:
        y += tl.load(b_ptr + column, mask=mask, other=0.0).to(x.dtype)
    tl.store(out_ptr + row * n + column, y, mask=mask)


def parts(value):
    """Kernels get a Python float in float32: what that rounds away comes beside it."""
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    dims = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    x = input.contiguous()
    out = torch.empty_like(x)
    if not x.numel():
        return out
    n = x[(0,) * (x.dim() - dims)].numel()
    w = x if weight is None else weight.contiguous()
    b = x if bias is None else bias.contiguous()
    block = triton.next_power_of_2(n)
    layer_norm_kernel[(x.numel() // n,)](
        x, w, b, out, n, *parts(eps), BLOCK=block, WEIGHT=weight is not None,
        BIAS=bias is not None, DOUBLE=x.dtype == torch.float64,
        num_warps=16 if block >= 16384 else 8 if block >= 4096 else 4)
    return out
