import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, out_ptr, stride, n, tiles, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros([BLOCK], tl.float32)
    for k in range(tl.cdiv(n, BLOCK)):
        tile = row * tiles + k
        cols = k * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + tile * BLOCK + tl.arange(0, BLOCK), mask=cols < n, other=0.0).to(tl.float32)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares) / n + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n)
        tl.store(out_ptr + row * stride + cols, x * scale, mask=cols < n)
