# kgate: task=gap22/max_reduction
"""The largest of each row: every lane keeps its own maximum over wide blocks, in the input's dtype, and
the lanes are reduced once, at the end."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def max_kernel(x_ptr, out_ptr, rows, n, LOWEST: tl.constexpr, ROWS: tl.constexpr,
               BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    dtype = x_ptr.dtype.element_ty
    best = tl.full([ROWS, BLOCK], LOWEST, dtype)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + row * n + column, mask=(row < rows) & (column < n), other=LOWEST)
        best = tl.maximum(best, x, propagate_nan=tl.PropagateNan.ALL).to(dtype)
    most = tl.max(best, 1)
    if dtype.is_floating():
        most = tl.where(tl.max((best != best).to(tl.int32), 1) > 0, float("nan"), most)
    tl.store(out_ptr + row, most[:, None], mask=row < rows)


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
    rows, n = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    lowest = float("-inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    if out.numel():
        block = min(triton.next_power_of_2(n), 32768 // x.element_size() // 4)
        per_program = max(1, 1024 // block)
        max_kernel[(triton.cdiv(rows, per_program),)](x, out, rows, n, LOWEST=lowest,
                                                      ROWS=per_program, BLOCK=block, num_warps=4)
    return with_kept(out, input, dim) if keepdim and input.dim() else out.reshape(shape)
