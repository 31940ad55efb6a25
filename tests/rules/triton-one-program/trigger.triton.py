import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0))
    tl.store(out_ptr, total)


def total(x):
    out = torch.empty((), dtype=x.dtype, device=x.device)
    grid = (1,)
    sum_kernel[(1,)](x, out, x.numel(), BLOCK=1024)
    return out
