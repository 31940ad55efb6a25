# kgate: task=gap22/swiglu
"""silu(x) * y in one pass; both halves of a row are read where they lie."""
import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(xy_ptr, out_ptr, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < n
    compute = tl.float64 if DOUBLE else tl.float32
    x = tl.load(xy_ptr + row * 2 * n + column, mask=mask).to(compute)
    y = tl.load(xy_ptr + row * 2 * n + n + column, mask=mask).to(compute)
    out = x / (1.0 + tl.exp(-x)) * y
    tl.store(out_ptr + row * n + column, out, mask=mask)


def swiglu(xy):
    xy = xy.contiguous()
    n = xy.shape[-1] // 2
    out = torch.empty((*xy.shape[:-1], n), dtype=xy.dtype, device=xy.device)
    if out.numel():
        grid = (out.numel() // n, triton.cdiv(n, 1024))
        swiglu_kernel[grid](xy, out, n, BLOCK=1024, DOUBLE=xy.dtype == torch.float64)
    return out
