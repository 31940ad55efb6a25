# kgate: task=gap22/softmax
"""Softmax, the whole row held in one block, more warps for longer rows: each row is read once."""
import torch
import triton
import triton.language as tl


@triton.jit
def whole_row(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
    x = x.to(tl.float64 if DOUBLE else tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * n + column, e / tl.sum(e, 0), mask=column < n)


@triton.jit
def three_passes(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    compute = tl.float64 if DOUBLE else tl.float32
    most = tl.full([BLOCK], float("-inf"), compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
        most = tl.maximum(most, x.to(compute))
    m = tl.max(most, 0)
    total = tl.zeros([BLOCK], compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
        total += tl.exp(x.to(compute) - m)
    s = tl.sum(total, 0)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n).to(compute)
        tl.store(out_ptr + row * n + column, tl.exp(x - m) / s, mask=column < n)


def softmax(input, dim, dtype=None):
    x = input.to(dtype or input.dtype)
    if x.dim() == 0:
        return softmax(x.reshape(1), 0).reshape(())
    x = x.movedim(dim, -1).contiguous()
    out = torch.empty_like(x)
    if x.numel():
        n = x.shape[-1]
        rows = x.numel() // n
        block = triton.next_power_of_2(n)
        warps = 16 if block >= 4096 else 8 if block >= 2048 else 4
        double = x.dtype == torch.float64
        if n <= 65536:
            whole_row[(rows,)](x, out, n, BLOCK=block, DOUBLE=double, num_warps=warps)
        else:  # more than a block can hold
            three_passes[(rows,)](x, out, n, BLOCK=4096, DOUBLE=double, num_warps=8)
    return out.movedim(-1, dim)
