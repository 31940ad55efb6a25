import torch
import triton
import triton.language as tl


def product(a, b):
    b = b.t().contiguous()
    out = torch.empty((a.shape[0], b.shape[0]), dtype=a.dtype, device=a.device)
    matmul_kernel[(triton.cdiv(a.shape[0], 128), triton.cdiv(b.shape[0], 128))](a, b, out, *a.shape)
    return out
