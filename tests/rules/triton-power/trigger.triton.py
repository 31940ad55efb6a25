import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    tl.store(out_ptr + i, tl.math.pow(x, 2.0), mask=i < n)
