# kgate: task=relu
"""ReLU in Triton: one pass at memory speed, 16 bytes a thread."""
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    # x < 0 is false for NaN, so NaN stays NaN.
    tl.store(out_ptr + at, tl.where(x < 0, tl.zeros_like(x), x), mask=at < n)


def relu(input, inplace=False):
    x = input.contiguous()
    out = input if inplace and input.is_contiguous() else torch.empty_like(x)
    n = x.numel()
    if n:
        block = 4096 // x.element_size()
        relu_kernel[(triton.cdiv(n, block),)](x, out, n, BLOCK=block)
    if inplace and out is not input:
        return input.copy_(out)
    return out
