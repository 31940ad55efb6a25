import torch
import triton
import triton.language as tl


def scaled(x, scale):  # scale: a tensor of one element, which the kernel loads
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, scale, x.numel(), BLOCK=1024)
    return out


def test_scaled():
    x = torch.randn(100, device="cuda")
    print((scaled(x, x[0]) - x * x[0]).abs().max().item())
