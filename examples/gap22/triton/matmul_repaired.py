# kgate: task=gap22/matmul
"""torch.matmul with wide tiles, chosen by measuring, programs grouped so that neighbours share strips
in L2, and the copy engine (TMA) for large half-precision matrices."""
import math

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


# Rows, columns and depth of a tile, warps, stages; programs of GROUP tile rows share strips in L2.
CONFIGS = [triton.Config({"M": m, "N": n, "K": 64, "GROUP": 8}, num_warps=warps, num_stages=stages)
           for m, n, warps, stages in ((128, 256, 8, 3), (128, 256, 8, 4), (256, 128, 8, 3),
                                       (128, 128, 8, 4), (128, 128, 4, 4))]
SMALL = {"M": 64, "N": 64, "K": 32, "GROUP": 8, "num_warps": 4, "num_stages": 3}


@triton.jit
def tile_of(program, m, n, M: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a program's tile, GROUP tile rows at a time: neighbours share strips."""
    tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
    strip = program // (GROUP * tiles_n) * GROUP
    height = min(tiles_m - strip, GROUP)
    return strip + program % (GROUP * tiles_n) % height, program % (GROUP * tiles_n) // height


@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, m, n, k, a_batch, a_row, a_column, b_batch, b_row, b_column,
                  M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
                  SUM: tl.constexpr):
    batch = tl.program_id(1).to(tl.int64)
    tile_i, tile_j = tile_of(tl.program_id(0), m, n, M, N, GROUP)
    i = (tile_i * M + tl.arange(0, M)).to(tl.int64)
    j = (tile_j * N + tl.arange(0, N)).to(tl.int64)
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


def describe(config):
    """The blocks of the descriptors are those of the tile that is tried."""
    config["a"].block_shape = [config["M"], config["K"]]
    config["b"].block_shape = [config["K"], config["N"]]
    config["out"].block_shape = [config["M"], config["N"]]


@triton.autotune([triton.Config(c.kwargs, num_warps=c.num_warps, num_stages=c.num_stages,
                                pre_hook=describe) for c in CONFIGS], key=["m", "n", "k"])
@triton.jit
def large_kernel(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                 GROUP: tl.constexpr):
    """Half-precision matrices whose rows are aligned to 16 bytes: the copy engine (TMA) loads tiles."""
    tile_i, tile_j = tile_of(tl.program_id(0), m, n, M, N, GROUP)
    total = tl.zeros([M, N], tl.float32)
    for first in range(0, k, K):
        left = a.load([tile_i * M, first])
        right = b.load([first, tile_j * N])
        total = tl.dot(left, right, total)
    out.store([tile_i * M, tile_j * N], total.to(out.dtype))


def copyable(t):
    """Whether the copy engine can load this matrix: rows contiguous, all on 16 bytes."""
    return (t.stride(1) == 1 and t.stride(0) * t.element_size() % 16 == 0
            and t.data_ptr() % 16 == 0)


def multiply(a, b, out):
    """out[p] = a[p] @ b[p]"""
    batches, m, n = out.shape
    k = a.shape[2]
    half = a.element_size() == 2
    if batches == 1 and half and min(m, n, k) >= 256 and copyable(a[0]) and copyable(b[0]) \
            and n % 8 == 0:
        tiles = [TensorDescriptor.from_tensor(t[0], [1, 1]) for t in (a, b, out)]
        large_kernel[lambda c: (triton.cdiv(m, c["M"]) * triton.cdiv(n, c["N"]),)](
            *tiles, m, n, k)
        return
    grid = (triton.cdiv(m, SMALL["M"]) * triton.cdiv(n, SMALL["N"]), batches)
    matmul_kernel[grid](a, b, out, m, n, k, *a.stride(), *b.stride(),
                        SUM=tl.float64 if a.dtype == torch.float64 else tl.float32, **SMALL)


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
        multiply(a, b, result)
    result = result.reshape(shape)
    return result if out is None else out.copy_(result)
