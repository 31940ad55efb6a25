# kgate: task=softmax
"""Softmax in Triton. A row that fits in registers is read once; a longer one is streamed twice, the
first time keeping a running maximum and sum in every lane (online softmax)."""
import torch
import triton
import triton.language as tl

LONGEST_IN_REGISTERS = 16384


@triton.jit
def short_rows(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr,
               DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < n)
    x = tl.load(x_ptr + row * n + column, mask=inside, other=float("-inf"))
    x = x.to(out_ptr.dtype.element_ty).to(tl.float64 if DOUBLE else tl.float32)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(out_ptr + row * n + column, e / tl.sum(e, 1)[:, None], mask=inside)


@triton.jit
def long_row(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    compute = tl.float64 if DOUBLE else tl.float32
    top = tl.full([BLOCK], float("-inf"), compute)
    total = tl.zeros([BLOCK], compute)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + column, mask=column < n, other=float("-inf"))
        x = x.to(out_ptr.dtype.element_ty).to(compute)
        higher = tl.maximum(top, x)
        # A lane that has only seen -inf adds nothing, and exp(-inf + inf) must not make it NaN.
        kept = tl.where(top == float("-inf"), 0.0, total * tl.exp(top - higher))
        total = kept + tl.where(x == float("-inf"), 0.0, tl.exp(x - higher))
        top = higher
    highest = tl.max(top, 0)
    scale = 1.0 / tl.sum(tl.where(top == float("-inf"), total, total * tl.exp(top - highest)), 0)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + column, mask=column < n, other=float("-inf"))
        x = x.to(out_ptr.dtype.element_ty).to(compute)
        tl.store(out_ptr + start + column, tl.exp(x - highest) * scale, mask=column < n)


def softmax(input, dim, dtype=None):
    if input.dim() == 0:
        return softmax(input.reshape(1), 0, dtype).reshape(())
    x = input.movedim(dim, -1).contiguous()
    out = torch.empty_like(x, dtype=dtype or x.dtype)
    n = x.shape[-1]
    if x.numel():
        rows = x.numel() // n
        double = out.dtype == torch.float64
        if n <= LONGEST_IN_REGISTERS:
            block = triton.next_power_of_2(n)
            per_program = max(1, 1024 // block)
            short_rows[(triton.cdiv(rows, per_program),)](
                x, out, rows, n, ROWS=per_program, BLOCK=block, DOUBLE=double,
                num_warps=4 if block <= 2048 else 8 if block <= 8192 else 16)
        else:
            long_row[(rows,)](x, out, n, BLOCK=8192, DOUBLE=double, num_warps=16)
    return out.movedim(-1, dim)
