import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, out_ptr, stride, n, eps):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for k in range(n):
        offs = row * stride + k
        x = tl.load(x_ptr + offs).to(tl.float32)
        total += x * x
    scale = 1 / tl.sqrt(total / n + eps)
    for start in range(0, n, 1024):
        cols = start + tl.arange(0, 1024)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n)
        tl.store(out_ptr + row * stride + cols, x * scale, mask=cols < n)
