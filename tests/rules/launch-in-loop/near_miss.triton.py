import torch
import triton
import triton.language as tl


def scan(x):
    out, other = torch.empty_like(x), torch.empty_like(x)
    for step in range(x.shape[-1].bit_length() if x.dim() else 0):
        pass
    for level in range(LEVELS):
        step_kernel[(x.shape[0],)](x, out, 1 << level, BLOCK=1024)
    return out
