# kgate: task=layer_norm
"""Layer norm in Triton: a row in registers is read once, a longer one is streamed. The variance is
that of the differences from the mean, so a large mean costs no digits."""
import struct

import torch
import triton
import triton.language as tl

LONGEST_IN_REGISTERS = 16384


@triton.jit
def affine(y, w_ptr, b_ptr, column, inside, WEIGHT: tl.constexpr, BIAS: tl.constexpr):
    if WEIGHT:
        y *= tl.load(w_ptr + column, mask=inside, other=0.0).to(y.dtype)
    if BIAS:
        y += tl.load(b_ptr + column, mask=inside, other=0.0).to(y.dtype)
    return y


@triton.jit
def short_row(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, eps_rest, BLOCK: tl.constexpr,
              WEIGHT: tl.constexpr, BIAS: tl.constexpr, DOUBLE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    column = tl.arange(0, BLOCK)
    inside = column < n
    x = tl.load(x_ptr + start + column, mask=inside, other=0.0)
    x = x.to(tl.float64 if DOUBLE else tl.float32)
    d = tl.where(inside, x - tl.sum(x, 0) / n, 0.0)
    y = d / tl.sqrt(tl.sum(d * d, 0) / n + eps + eps_rest)
    y = affine(y, w_ptr, b_ptr, column, inside, WEIGHT, BIAS)
    tl.store(out_ptr + start + column, y, mask=inside)


@triton.jit
def long_row(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, eps_rest, BLOCK: tl.constexpr,
             WEIGHT: tl.constexpr, BIAS: tl.constexpr, DOUBLE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    compute = tl.float64 if DOUBLE else tl.float32
    total = tl.zeros([BLOCK], compute)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + start + column, mask=column < n, other=0.0).to(compute)
    mean = tl.sum(total, 0) / n
    total = tl.zeros([BLOCK], compute)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + column, mask=column < n, other=0.0).to(compute)
        d = tl.where(column < n, x - mean, 0.0)
        total += d * d
    scale = 1.0 / tl.sqrt(tl.sum(total, 0) / n + eps + eps_rest)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + column, mask=column < n, other=0.0).to(compute)
        y = affine((x - mean) * scale, w_ptr, b_ptr, column, column < n, WEIGHT, BIAS)
        tl.store(out_ptr + start + column, y, mask=column < n)


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
    flags = {"WEIGHT": weight is not None, "BIAS": bias is not None,
             "DOUBLE": x.dtype == torch.float64}
    grid = (x.numel() // n,)
    if n <= LONGEST_IN_REGISTERS:
        block = triton.next_power_of_2(n)
        warps = 1 if block <= 512 else 4 if block <= 2048 else 8 if block <= 8192 else 16
        short_row[grid](x, w, b, out, n, *parts(eps), BLOCK=block, num_warps=warps, **flags)
    else:
        long_row[grid](x, w, b, out, n, *parts(eps), BLOCK=8192, num_warps=16, **flags)
    return out
