import torch
import triton
import triton.language as tl


def scaled(x, scale):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, scale.item(), x.numel(), BLOCK=1024)
    return out
