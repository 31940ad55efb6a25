import torch
import triton
import triton.language as tl


@triton.jit
def bias_kernel(x_ptr, bias_ptr, out_ptr, n, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr + offs % width, mask=offs < n)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + bias, mask=offs < n)
