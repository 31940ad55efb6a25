# kgate: task=matmul
"""torch.matmul in Triton, one tile size a shape class: right, and slow beside cuBLAS. float32
products run on the matrix units in TF32 (10 fraction bits, float32 sums): kgate places that on its
precision ladder and compares it with a TF32 library."""
import math

import torch
import triton
import triton.language as tl

# rows, columns, depth of a tile; programs that share a strip of `a` in cache; warps; stages
LARGE_HALF = {"M": 128, "N": 256, "K": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3}
LARGE = {"M": 128, "N": 128, "K": 32, "GROUP": 8, "num_warps": 8, "num_stages": 4}
SMALL = {"M": 64, "N": 64, "K": 32, "GROUP": 8, "num_warps": 4, "num_stages": 4}
DOUBLE = {"M": 32, "N": 32, "K": 16, "GROUP": 8, "num_warps": 4, "num_stages": 2}


@triton.jit
def product(a_ptr, b_ptr, out_ptr, m, n, k, a_batch, a_row, a_column, b_batch, b_row, b_column,
            M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
            SUM: tl.constexpr):
    program, batch = tl.program_id(0), tl.program_id(1).to(tl.int64)
    tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
    strip = program // (GROUP * tiles_n) * GROUP
    height = min(tiles_m - strip, GROUP)
    tile_m = strip + program % (GROUP * tiles_n) % height
    tile_n = program % (GROUP * tiles_n) // height
    i = (tile_m * M + tl.arange(0, M)).to(tl.int64)
    j = (tile_n * N + tl.arange(0, N)).to(tl.int64)
    a_ptr += batch * a_batch + i[:, None] * a_row
    b_ptr += batch * b_batch + j[None, :] * b_column
    total = tl.zeros([M, N], SUM)
    for first in range(0, k, K):
        depth = first + tl.arange(0, K)
        a = tl.load(a_ptr + depth[None, :] * a_column, other=0.0,
                    mask=(i[:, None] < m) & (depth[None, :] < k))
        b = tl.load(b_ptr + depth[:, None] * b_row, other=0.0,
                    mask=(depth[:, None] < k) & (j[None, :] < n))
        total = tl.dot(a, b, total, input_precision="tf32", out_dtype=SUM)
    out = out_ptr + batch * m * n + i[:, None] * n + j[None, :]
    tl.store(out, total, mask=(i[:, None] < m) & (j[None, :] < n))


def tile_for(dtype, m, n):
    if dtype == torch.float64:
        return DOUBLE
    if m * n < 1024 * 1024:
        return SMALL
    return LARGE if dtype == torch.float32 else LARGE_HALF


def batched(a, b, out):
    """out[p] = a[p] @ b[p]; a and b may have any strides."""
    batches, m, n = out.shape
    tile = tile_for(a.dtype, m, n)
    total = tl.float64 if a.dtype == torch.float64 else tl.float32
    grid = (triton.cdiv(m, tile["M"]) * triton.cdiv(n, tile["N"]), batches)
    product[grid](a, b, out, m, n, a.shape[2], *a.stride(), *b.stride(), SUM=total, **tile)


def matmul(input, other, *, out=None):
    a = input[None, :] if input.dim() == 1 else input
    b = other[:, None] if other.dim() == 1 else other
    m, n, k = a.shape[-2], b.shape[-1], a.shape[-1]
    if b.dim() == 2:  # one product of all rows
        lead = a.shape[:-2]
        a, b = a.reshape(1, math.prod(lead) * m, k), b[None]
    else:
        lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = a.expand(*lead, m, k).reshape(math.prod(lead), m, k)
        b = b.expand(*lead, k, n).reshape(math.prod(lead), k, n)
    result = torch.empty((a.shape[0], a.shape[1], n), dtype=a.dtype, device=a.device)
    if result.numel():
        batched(a, b, result)
    shape = list(lead) + [m] * (input.dim() > 1) + [n] * (other.dim() > 1)
    result = result.reshape(shape)
    return result if out is None else out.copy_(result)
