# kgate: task=softmax
"""A wrong softmax: it leaves out the maximum, so that a row with a value above 88 overflows."""
import torch
import triton
import triton.language as tl


@triton.jit
def rows_without_maximum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + column, mask=column < n, other=float("-inf"))
        total += tl.exp(x.to(tl.float32))
    scale = 1.0 / tl.sum(total, 0)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + column, mask=column < n)
        tl.store(out_ptr + start + column, tl.exp(x.to(tl.float32)) * scale, mask=column < n)


def softmax(input, dim, dtype=None):
    x = input.to(dtype or input.dtype).reshape(input.shape or (1,)).movedim(dim, -1).contiguous()
    out = torch.empty_like(x)
    if x.numel():
        n = x.shape[-1]
        rows_without_maximum[(x.numel() // n,)](x, out, n, BLOCK=1024)
    return out.movedim(-1, dim).reshape(input.shape)
