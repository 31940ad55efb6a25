# kgate: task=gap22/mean_reduction
"""The mean of each row: every lane keeps its own sum over wide blocks, and the lanes are added up
once, at the end."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    total = tl.zeros([ROWS, BLOCK], tl.float64 if DOUBLE else tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + row * n + column, mask=(row < rows) & (column < n), other=0.0)
        total += x.to(total.dtype)
    tl.store(out_ptr + row, (tl.sum(total, 1) / n)[:, None], mask=row < rows)


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
        block = min(triton.next_power_of_2(n), 8192 // x.element_size())
        per_program = max(1, 1024 // block)
        mean_kernel[(triton.cdiv(rows, per_program),)](
            x, out, rows, n, ROWS=per_program, BLOCK=block, DOUBLE=x.dtype == torch.float64,
            num_warps=4)
    return with_kept(out, input, dim) if keepdim and input.dim() else out.reshape(shape)
