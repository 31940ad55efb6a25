import torch
import triton
import triton.language as tl


def conv2d(x, weight):
    columns = torch.nn.functional.unfold(x, weight.shape[2:])
    out = torch.empty(x.shape[0], weight.shape[0], columns.shape[2], dtype=x.dtype, device=x.device)
    matmul_kernel[(triton.cdiv(out.numel(), 128 * 128),)](weight, columns, out, *columns.shape)
    return out
