import torch
import triton
import triton.language as tl


def add_bias(x, bias):
    bias = bias.repeat(x.shape[0], 1)
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, bias, out, x.numel(), BLOCK=1024)
    return out
