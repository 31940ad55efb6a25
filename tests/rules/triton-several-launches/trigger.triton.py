import torch
import triton
import triton.language as tl


def swiglu(x, gate):
    a, b = torch.empty_like(x), torch.empty_like(x)
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 1024),)
    sigmoid_kernel[grid](gate, a, x.numel(), BLOCK=1024)
    mul_kernel[grid](gate, a, b, x.numel(), BLOCK=1024)
    mul_kernel[grid](x, b, out, x.numel(), BLOCK=1024)
    return out
