# kgate: task=gap22/log_softmax
"""Log softmax, the whole row held in one block, with enough warps that at most 64 values a thread stay
in registers; longer rows are streamed."""
import torch
import triton
import triton.language as tl


@triton.jit
def whole_row(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf"))
    x = x.to(tl.float64 if DOUBLE else tl.float32)
    d = x - tl.max(x, 0)
    tl.store(out_ptr + row * n + column, d - tl.log(tl.sum(tl.exp(d), 0)), mask=column < n)


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
    log_sum = tl.log(tl.sum(total, 0))
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n).to(compute)
        tl.store(out_ptr + row * n + column, x - m - log_sum, mask=column < n)


def log_softmax(input, dim, dtype=None):
    x = input.to(dtype or input.dtype)
    if x.dim() == 0:
        return log_softmax(x.reshape(1), 0).reshape(())
    x = x.movedim(dim, -1).contiguous()
    out = torch.empty_like(x)
    if x.numel():
        n = x.shape[-1]
        rows = x.numel() // n
        block = triton.next_power_of_2(n)
        warps = 16 if block >= 16384 else 8 if block >= 4096 else 4
        double = x.dtype == torch.float64
        if n <= 32768:
            whole_row[(rows,)](x, out, n, BLOCK=block, DOUBLE=double, num_warps=warps)
        else:  # more than a block can hold
            three_passes[(rows,)](x, out, n, BLOCK=4096, DOUBLE=double, num_warps=8)
    return out.movedim(-1, dim)
