# kgate: task=fused_mul_sub
"""input * other_mul - alpha * other_sub in one pass; PyTorch eager makes two and a temporary."""
import struct

import torch
import triton
import triton.language as tl


@triton.jit
def exact(high, low, COMPUTE: tl.constexpr):
    """A Python number: kernels get it in float32, so a double comes in two parts."""
    return tl.zeros([1], COMPUTE) + high + low


@triton.jit
def fused(x_ptr, m_ptr, s_ptr, out_ptr, n, m_high, m_low, s_high, s_low, a_high, a_low,
          M_NUMBER: tl.constexpr, S_NUMBER: tl.constexpr, SCALED: tl.constexpr,
          COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside).to(COMPUTE)
    if M_NUMBER:
        x *= exact(m_high, m_low, COMPUTE)
    else:
        x *= tl.load(m_ptr + at, mask=inside).to(COMPUTE)
    if S_NUMBER:
        s = tl.zeros([BLOCK], COMPUTE) + exact(s_high, s_low, COMPUTE)
    else:
        s = tl.load(s_ptr + at, mask=inside).to(COMPUTE)
    if SCALED:
        s *= exact(a_high, a_low, COMPUTE)
    tl.store(out_ptr + at, x - s, mask=inside)


def parts(value):
    """A number as the sum of two float32 values, 48 bits in all."""
    if isinstance(value, torch.Tensor):
        return 0.0, 0.0
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def compute_type(dtype):
    if dtype.is_floating_point:
        return tl.float64 if dtype == torch.float64 else tl.float32
    return tl.int64


def fused_mul_sub(input, other_mul, other_sub, alpha=1, out=None):
    dtype = torch.result_type(input, other_mul)
    dtype = torch.result_type(torch.empty((0,) * input.dim(), dtype=dtype), other_sub)
    tensors = [t for t in (input, other_mul, other_sub) if isinstance(t, torch.Tensor)]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    x, m, s = (t.expand(shape).contiguous() if isinstance(t, torch.Tensor) else t
               for t in (input, other_mul, other_sub))
    result = torch.empty(shape, dtype=dtype, device=input.device)
    n = result.numel()
    if n:
        m_number, s_number = (not isinstance(t, torch.Tensor) for t in (m, s))
        fused[(triton.cdiv(n, 1024),)](
            x, x if m_number else m, x if s_number else s, result, n, *parts(m), *parts(s),
            *parts(alpha), M_NUMBER=m_number, S_NUMBER=s_number, SCALED=alpha != 1,
            COMPUTE=compute_type(dtype), BLOCK=1024)
    return result if out is None else out.copy_(result)
