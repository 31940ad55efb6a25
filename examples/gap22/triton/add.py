# kgate: task=gap22/add
"""input + alpha * other in one pass, a block of 1024 elements a program."""
import struct

import torch
import triton
import triton.language as tl


@triton.jit
def exact(high, low, COMPUTE: tl.constexpr):
    """A Python number: kernels get it in float32, so a double comes in two parts."""
    return tl.zeros([1], COMPUTE) + high + low


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, y_high, y_low, a_high, a_low, NUMBER: tl.constexpr,
               SCALED: tl.constexpr, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask).to(COMPUTE)
    if NUMBER:
        y = tl.zeros([BLOCK], COMPUTE) + exact(y_high, y_low, COMPUTE)
    else:
        y = tl.load(y_ptr + at, mask=mask).to(COMPUTE)
    if SCALED:
        y *= exact(a_high, a_low, COMPUTE)
    tl.store(out_ptr + at, x + y, mask=mask)


def parts(value):
    if isinstance(value, torch.Tensor):
        return 0.0, 0.0
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def compute_type(dtype):
    if dtype.is_floating_point:
        return tl.float64 if dtype == torch.float64 else tl.float32
    return tl.int64


def add(input, other, *, alpha=1, out=None):
    dtype = torch.result_type(input, other)
    number = not isinstance(other, torch.Tensor)
    shape = input.shape if number else torch.broadcast_shapes(input.shape, other.shape)
    x = input.expand(shape).contiguous()
    y = other if number else other.expand(shape).contiguous()
    result = torch.empty(shape, dtype=dtype, device=input.device)
    n = result.numel()
    if n:
        add_kernel[(triton.cdiv(n, 1024),)](
            x, x if number else y, result, n, *parts(y), *parts(alpha), NUMBER=number,
            SCALED=alpha != 1, COMPUTE=compute_type(dtype), BLOCK=1024)
    return result if out is None else out.copy_(result)
