# kgate: task=gap22/mul
"""Twice the input in one pass, a block of 1024 elements a program."""
import torch
import triton
import triton.language as tl


@triton.jit
def mul_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(out_ptr + at, x * 2, mask=mask)


def mul(input):
    x = input.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        mul_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out
