import torch
import triton
import triton.language as tl


def conv2d(x, weight, padding):
    out = torch.empty(x.shape[0], weight.shape[0], *x.shape[2:], dtype=x.dtype, device=x.device)
    conv_kernel[(out.numel() // 1024,)](x, weight, out, *x.shape, padding)
    return out
