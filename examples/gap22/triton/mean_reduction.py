# kgate: task=gap22/mean_reduction
"""The mean of each row: a program a row, 128 columns at a time. Slow: every small block is summed to
one number before the next is read, so that one load at a time is under way."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    compute = tl.float64 if DOUBLE else tl.float32
    total = tl.zeros([1], compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=0.0)
        total += tl.sum(x.to(compute), 0)
    tl.store(out_ptr + row + tl.arange(0, 1), total / n)


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


def mean_reduction(input, dim, keepdim=False):
    x, shape = rows_of(input, dim)
    rows, n = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    if n == 0:
        out.fill_(float("nan"))
    elif rows:
        mean_kernel[(rows,)](x, out, n, BLOCK=128, DOUBLE=x.dtype == torch.float64)
    return with_kept(out, input, dim) if keepdim and input.dim() else out.reshape(shape)
