import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, n):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.maximum(x, 0.0))


def relu(x):
    out = torch.empty_like(x)
    relu_kernel[(x.numel(),)](x, out, x.numel())
    return out
