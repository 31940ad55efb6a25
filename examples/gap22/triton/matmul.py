# kgate: task=gap22/matmul
"""torch.matmul with one tile size, 64 x 64 x 32, and programs in row-major order. Slow for large
matrices: small tiles reuse little, and programs side by side share no strip of `other` in L2."""
import math

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, m, n, k, a_batch, a_row, a_column, b_batch, b_row, b_column,
                  M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr):
    program, batch = tl.program_id(0), tl.program_id(1).to(tl.int64)
    tiles_n = tl.cdiv(n, N)
    i = (program // tiles_n * M + tl.arange(0, M)).to(tl.int64)
    j = (program % tiles_n * N + tl.arange(0, N)).to(tl.int64)
    depth = tl.arange(0, K)
    a = a_ptr + batch * a_batch + i[:, None] * a_row + depth[None, :] * a_column
    b = b_ptr + batch * b_batch + depth[:, None] * b_row + j[None, :] * b_column
    total = tl.zeros([M, N], SUM)
    for first in range(0, k, K):
        left = tl.load(a, mask=(i[:, None] < m) & (first + depth[None, :] < k), other=0.0)
        right = tl.load(b, mask=(first + depth[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, out_dtype=SUM)
        a += K * a_column
        b += K * b_row
    out = out_ptr + (batch * m + i[:, None]) * n + j[None, :]
    tl.store(out, total, mask=(i[:, None] < m) & (j[None, :] < n))


def batched(a, b):
    """a (..., m, k) and b (..., k, n) as (batch, m, k) and (batch, k, n)."""
    if b.dim() == 2:  # one product of all rows
        return a.reshape(1, math.prod(a.shape[:-1]), a.shape[-1]), b[None]
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (a.expand(*lead, *a.shape[-2:]).reshape(math.prod(lead), *a.shape[-2:]),
            b.expand(*lead, *b.shape[-2:]).reshape(math.prod(lead), *b.shape[-2:]))


def matmul(input, other, *, out=None):
    a = input[None, :] if input.dim() == 1 else input
    b = other[:, None] if other.dim() == 1 else other
    lead = a.shape[:-2] if b.dim() == 2 else torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*lead, *a.shape[-2:-1][:input.dim() - 1], *b.shape[-1:][:other.dim() - 1])
    a, b = batched(a, b)
    result = torch.empty((a.shape[0], a.shape[1], b.shape[2]), dtype=a.dtype, device=a.device)
    if result.numel():
        grid = (triton.cdiv(a.shape[1], 64) * triton.cdiv(b.shape[2], 64), a.shape[0])
        matmul_kernel[grid](a, b, result, a.shape[1], b.shape[2], a.shape[2], *a.stride(),
                            *b.stride(), M=64, N=64, K=32,
                            SUM=tl.float64 if a.dtype == torch.float64 else tl.float32)
    result = result.reshape(shape)
    return result if out is None else out.copy_(result)
