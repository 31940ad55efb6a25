import torch
import triton
import triton.language as tl


def swiglu(x, gate):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 1024),)
    if x.dtype == torch.float16:
        half_kernel[grid](x, gate, out, x.numel(), BLOCK=1024)
    elif x.dtype == torch.bfloat16:
        brain_kernel[grid](x, gate, out, x.numel(), BLOCK=1024)
    else:
        full_kernel[grid](x, gate, out, x.numel(), BLOCK=1024)
    return out
