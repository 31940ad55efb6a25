# kgate: task=gap22/logsumexp
"""log(sum(exp(x))) of each row, the whole row held in one block. Long rows spill: four warps hold 128
values a thread at 16,384 columns."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def whole_row(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
    x = x.to(tl.float64 if DOUBLE else tl.float32)
    m = tl.max(x, 0)
    m = tl.where(tl.abs(m) == float("inf"), 0.0, m)  # an infinite maximum is the answer as it is
    s = tl.sum(tl.exp(x - m), 0)
    tl.store(out_ptr + row, m + tl.log(s))


@triton.jit
def two_passes(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    compute = tl.float64 if DOUBLE else tl.float32
    most = tl.full([BLOCK], float("-inf"), compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
        most = tl.maximum(most, x.to(compute))
    m = tl.max(most, 0)
    m = tl.where(tl.abs(m) == float("inf"), 0.0, m)
    total = tl.zeros([BLOCK], compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
        total += tl.exp(x.to(compute) - m)
    tl.store(out_ptr + row, m + tl.log(tl.sum(total, 0)))


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


def logsumexp(input, dim, keepdim=False):
    x, shape = rows_of(input, dim)
    rows, n = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    double = x.dtype == torch.float64
    if n == 0:
        out.fill_(float("-inf"))
    elif rows and n <= 65536:
        whole_row[(rows,)](x, out, n, BLOCK=triton.next_power_of_2(n), DOUBLE=double)
    elif rows:  # more than a block can hold
        two_passes[(rows,)](x, out, n, BLOCK=4096, DOUBLE=double)
    return with_kept(out, input, dim) if keepdim and input.dim() else out.reshape(shape)
