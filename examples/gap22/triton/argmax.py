# kgate: task=gap22/argmax
"""Where each row's largest stands: a program a row, 128 columns at a time. Slow: every small block is
reduced, value and place, before the next is read, so that one load at a time is under way."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, out_ptr, n, LOWEST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best = tl.full([1], LOWEST, x_ptr.dtype.element_ty)
    where = tl.zeros([1], tl.int64)
    nan_at = tl.zeros([1], tl.int64) + n  # the first NaN, which is largest
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=LOWEST)
        nan_at = tl.minimum(nan_at, tl.min(tl.where(x != x, column, n), 0))
        x = tl.where(x == x, x, LOWEST)
        value, at = tl.max(x, 0).to(best.dtype), tl.argmax(x, 0)
        where = tl.where(value > best, start + at, where)
        best = tl.maximum(best, value).to(best.dtype)
    where = tl.where(nan_at < n, nan_at, where)
    tl.store(out_ptr + row + tl.arange(0, 1), where)


def rows_of(x, dim):
    """dim last, or everything in one row; and the shape of the others."""
    if dim is None or x.dim() == 0:
        return x.contiguous().reshape(1, -1), ()
    x = x.movedim(dim, -1).contiguous()
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), x.shape[:-1]


def argmax(input, dim, keepdim=False):
    x, shape = rows_of(input, dim)
    rows, n = x.shape
    out = torch.empty(rows, dtype=torch.int64, device=x.device)
    lowest = float("-inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    if out.numel():
        argmax_kernel[(rows,)](x, out, n, LOWEST=lowest, BLOCK=128)
    out = out.reshape(shape)
    if keepdim:
        return out.reshape((1,) * input.dim()) if dim is None else out.unsqueeze(dim)
    return out
