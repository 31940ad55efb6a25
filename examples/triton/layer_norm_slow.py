# kgate: task=layer_norm
"""A right and slow layer norm: each row is summed one element after the other, so that every load
waits for the one before, where a block of columns would be reduced at once."""
import struct

import torch
import triton
import triton.language as tl


@triton.jit
def serial_row(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, eps_rest, WEIGHT: tl.constexpr,
               BIAS: tl.constexpr, DOUBLE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    compute = tl.float64 if DOUBLE else tl.float32
    total = tl.zeros([1], compute)
    one = tl.arange(0, 1)
    for k in range(n):
        total += tl.load(x_ptr + start + k + one).to(compute)
    mean = total / n
    total = tl.zeros([1], compute)
    for k in range(n):
        d = tl.load(x_ptr + start + k + one).to(compute) - mean
        total += d * d
    scale = 1.0 / tl.sqrt(total / n + eps + eps_rest)
    for k in range(n):
        y = (tl.load(x_ptr + start + k + one).to(compute) - mean) * scale
        if WEIGHT:
            y *= tl.load(w_ptr + k + one).to(compute)
        if BIAS:
            y += tl.load(b_ptr + k + one).to(compute)
        tl.store(out_ptr + start + k + one, y)


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
    serial_row[(x.numel() // n,)](x, w, b, out, n, *parts(eps), WEIGHT=weight is not None,
                                  BIAS=bias is not None, DOUBLE=x.dtype == torch.float64)
    return out
