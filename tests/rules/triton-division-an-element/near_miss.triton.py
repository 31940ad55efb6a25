import torch
import triton
import triton.language as tl


@triton.jit
def bias_kernel(x_ptr, bias_ptr, out_ptr, tiles, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    row = pid // tiles
    offs = pid % tiles * BLOCK + tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr + offs, mask=offs < width)
    x = tl.load(x_ptr + row * width + offs, mask=offs < width)
    tl.store(out_ptr + row * width + offs, x + bias, mask=offs < width)
