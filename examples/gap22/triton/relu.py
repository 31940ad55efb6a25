# kgate: task=gap22/relu
"""ReLU in one pass, a block of 1024 elements a program."""
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    # NaN is not below zero, and stays.
    tl.store(out_ptr + at, tl.where(x < 0, tl.zeros_like(x), x), mask=mask)


def relu(input, inplace=False):
    x = input.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        relu_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return input.copy_(out) if inplace else out
