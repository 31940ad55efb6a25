import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    tl.store(out_ptr + i, x * 2, mask=i < n)


def double(x):
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    wide = x.to(dtype)
    out = torch.empty_like(wide)
    double_kernel[(triton.cdiv(x.numel(), 1024),)](wide, out, x.numel(), BLOCK=1024)
    return out.to(x.dtype)
