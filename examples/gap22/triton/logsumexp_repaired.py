# kgate: task=gap22/logsumexp
"""log(sum(exp(x))) of each row, streamed once: every lane keeps a running maximum and sum (online
softmax), and the lanes are joined at the end."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                     DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    compute = tl.float64 if DOUBLE else tl.float32
    top = tl.full([ROWS, BLOCK], float("-inf"), compute)
    total = tl.zeros([ROWS, BLOCK], compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + row * n + column, mask=(row < rows) & (column < n),
                    other=float("-inf")).to(compute)
        higher = tl.maximum(top, x)
        # A lane that saw no number yet, or infinity, is not scaled: inf - inf would be NaN.
        base = tl.where(tl.abs(higher) == float("inf"), 0.0, higher)
        old = tl.where(top == float("-inf"), total, total * tl.exp(top - base))
        total = old + tl.exp(x - base)
        top = higher
    m = tl.max(top, 1)
    base = tl.where(tl.abs(m) == float("inf"), 0.0, m)[:, None]
    own = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    # What a lane summed is relative to its own base.
    joined = tl.sum(tl.where(total == 0.0, 0.0, total * tl.exp(own - base)), 1)
    answer = tl.where(m == float("inf"), joined, base.reshape([ROWS]) + tl.log(joined))
    tl.store(out_ptr + row, answer[:, None], mask=row < rows)


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
    if n == 0:
        out.fill_(float("-inf"))
    elif rows:
        block = min(triton.next_power_of_2(n), 4096)
        per_program = max(1, 1024 // block)
        logsumexp_kernel[(triton.cdiv(rows, per_program),)](
            x, out, rows, n, ROWS=per_program, BLOCK=block, DOUBLE=x.dtype == torch.float64,
            num_warps=4 if block <= 2048 else 8)
    return with_kept(out, input, dim) if keepdim and input.dim() else out.reshape(shape)
