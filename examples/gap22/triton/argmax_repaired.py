# kgate: task=gap22/argmax
"""Where each row's largest stands: every lane keeps its own best value and place over wide blocks, and
the lanes are reduced once, at the end."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, out_ptr, rows, n, LOWEST: tl.constexpr, ROWS: tl.constexpr,
                  BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    best = tl.full([ROWS, BLOCK], LOWEST, x_ptr.dtype.element_ty)
    where = tl.zeros([ROWS, BLOCK], tl.int32) + tl.arange(0, BLOCK)[None, :]
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + row * n + column, mask=(row < rows) & (column < n), other=LOWEST)
        # Columns of a lane grow: an equal value later does not count, nor anything after a NaN.
        higher = ((x > best) | (x != x)) & (best == best)
        best = tl.where(higher, x, best)
        where = tl.where(higher, column, where)
    nan = best != best
    top = tl.max(tl.where(nan, LOWEST, best), 1)
    any_nan = tl.max(nan.to(tl.int32), 1) > 0
    wanted = tl.where(any_nan[:, None], nan, best == top[:, None])
    first = tl.min(tl.where(wanted, where, n), 1)
    tl.store(out_ptr + row, first[:, None].to(tl.int64), mask=row < rows)


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
        block = min(triton.next_power_of_2(n), 2048)
        per_program = max(1, 1024 // block)
        argmax_kernel[(triton.cdiv(rows, per_program),)](
            x, out, rows, n, LOWEST=lowest, ROWS=per_program, BLOCK=block, num_warps=4)
    out = out.reshape(shape)
    if keepdim:
        return out.reshape((1,) * input.dim()) if dim is None else out.unsqueeze(dim)
    return out
