# kgate: task=gap22/max_reduction
"""The largest of each row: a program a row, 128 columns at a time. Slow: every small block is
reduced to one number before the next is read, so that one load at a time is under way."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def max_kernel(x_ptr, out_ptr, n, LOWEST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    dtype = x_ptr.dtype.element_ty
    best = tl.full([1], LOWEST, dtype)
    nans = tl.zeros([1], tl.int32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=LOWEST)
        best = tl.maximum(best, tl.max(x, 0)).to(dtype)
        nans = tl.maximum(nans, tl.max((x != x).to(tl.int32), 0))
    if dtype.is_floating():
        best = tl.where(nans > 0, float("nan"), best)
    tl.store(out_ptr + row + tl.arange(0, 1), best)


def rows_of(x, dim):
    """The reduced dimensions last and in one, and the shape of the others."""
    if x.dim() == 0:
        return x.reshape(1, 1), ()
    dims = [d % x.dim() for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [x.shape[d] for d in kept]
    n = math.prod(x.shape[d] for d in dims)
    return x.permute(*kept, *dims).contiguous().reshape(math.prod(shape), n), shape


def with_kept(out, x, dim):
    dims = [d % x.dim() for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    return out.reshape([1 if d in dims else x.shape[d] for d in range(x.dim())])


def max_reduction(input, dim, keepdim=False):
    x, shape = rows_of(input, dim)
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    lowest = float("-inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    if out.numel():
        max_kernel[(x.shape[0],)](x, out, x.shape[1], LOWEST=lowest, BLOCK=128)
    return with_kept(out, input, dim) if keepdim and input.dim() else out.reshape(shape)
