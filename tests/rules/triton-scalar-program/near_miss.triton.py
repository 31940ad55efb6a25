import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, bias_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.maximum(x + bias, 0.0), mask=i < n)


def relu(x, bias):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, bias, out, x.numel(), BLOCK=1024)
    return out
