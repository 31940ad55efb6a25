# kgate: task=gap22/linear_activation
"""RMS norm in a pass of its own, then both products and the gate in one kernel with wide tiles, chosen
by measuring, programs grouped so that neighbours share strips in L2, and the copy engine (TMA) for
large half-precision matrices."""
import struct

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# Rows, columns and depth of a tile, warps, stages; programs of GROUP tile rows share strips in L2.
CONFIGS = ((128, 128, 64, 8, 3), (128, 128, 64, 8, 4), (128, 64, 64, 4, 4), (256, 64, 64, 8, 3))
SMALL = {"M": 64, "N": 64, "K": 32, "GROUP": 8, "num_warps": 4, "num_stages": 3}


@triton.jit
def norm_kernel(x_ptr, g_ptr, out_ptr, k, eps, eps_rest, BLOCK: tl.constexpr, SUM: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros([BLOCK], SUM)
    for first in range(0, k, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * k + column, mask=column < k, other=0.0).to(SUM)
        squares += x * x
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / k + eps + eps_rest)
    for first in range(0, k, BLOCK):
        column = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * k + column, mask=column < k, other=0.0).to(SUM)
        g = tl.load(g_ptr + column, mask=column < k, other=0.0).to(SUM)
        tl.store(out_ptr + row * k + column, x * scale * g, mask=column < k)


@triton.jit
def tile_of(program, m, n, M: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a program's tile, GROUP tile rows at a time: neighbours share strips."""
    tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
    strip = program // (GROUP * tiles_n) * GROUP
    height = min(tiles_m - strip, GROUP)
    return strip + program % (GROUP * tiles_n) % height, program % (GROUP * tiles_n) // height


@triton.jit
def gate_kernel(x_ptr, w1_ptr, w3_ptr, out_ptr, m, n, k, w1_row, w1_column, w3_row, w3_column,
                M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
                SUM: tl.constexpr):
    tile_i, tile_j = tile_of(tl.program_id(0), m, n, M, N, GROUP)
    i = (tile_i * M + tl.arange(0, M)).to(tl.int64)
    j = (tile_j * N + tl.arange(0, N)).to(tl.int64)
    p = tl.zeros([M, N], SUM)
    q = tl.zeros([M, N], SUM)
    for first in range(0, k, K):
        depth = first + tl.arange(0, K)
        x = tl.load(x_ptr + i[:, None] * k + depth[None, :], other=0.0,
                    mask=(i[:, None] < m) & (depth[None, :] < k))
        inside = (depth[:, None] < k) & (j[None, :] < n)
        w1 = tl.load(w1_ptr + depth[:, None] * w1_column + j[None, :] * w1_row, mask=inside,
                     other=0.0)
        w3 = tl.load(w3_ptr + depth[:, None] * w3_column + j[None, :] * w3_row, mask=inside,
                     other=0.0)
        p = tl.dot(x, w1, p, out_dtype=SUM)
        q = tl.dot(x, w3, q, out_dtype=SUM)
    out = p / (1.0 + tl.exp(-p)) * q
    tl.store(out_ptr + i[:, None] * n + j[None, :], out, mask=(i[:, None] < m) & (j[None, :] < n))


def describe(config):
    """The blocks of the descriptors are those of the tile that is tried."""
    config["x"].block_shape = [config["M"], config["K"]]
    config["w1"].block_shape = config["w3"].block_shape = [config["N"], config["K"]]
    config["out"].block_shape = [config["M"], config["N"]]


@triton.autotune([triton.Config({"M": m, "N": n, "K": k, "GROUP": 8}, num_warps=warps,
                                num_stages=stages, pre_hook=describe)
                  for m, n, k, warps, stages in CONFIGS], key=["m", "n", "k"])
@triton.jit
def large_kernel(x, w1, w3, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                 GROUP: tl.constexpr):
    """Half-precision matrices whose rows are aligned to 16 bytes: the copy engine (TMA) loads tiles."""
    tile_i, tile_j = tile_of(tl.program_id(0), m, n, M, N, GROUP)
    p = tl.zeros([M, N], tl.float32)
    q = tl.zeros([M, N], tl.float32)
    for first in range(0, k, K):
        rows = x.load([tile_i * M, first])
        p = tl.dot(rows, w1.load([tile_j * N, first]).T, p)
        q = tl.dot(rows, w3.load([tile_j * N, first]).T, q)
    gated = p / (1.0 + tl.exp(-p)) * q
    out.store([tile_i * M, tile_j * N], gated.to(out.dtype))


def parts(value):
    """Kernels get a Python float in float32: what that rounds away comes beside it."""
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def linear_activation(x, w1, w3, rms_w, eps=1e-6):
    k, n = x.shape[-1], w1.shape[0]
    rows = x.contiguous().reshape(x.numel() // k, k)
    m = rows.shape[0]
    out = torch.empty((*x.shape[:-1], n), dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    compute = tl.float64 if x.dtype == torch.float64 else tl.float32
    normed = torch.empty_like(rows)
    norm_kernel[(m,)](rows, rms_w.contiguous(), normed, k, *parts(eps),
                      BLOCK=min(triton.next_power_of_2(k), 4096), SUM=compute)
    aligned = all(t.is_contiguous() and t.data_ptr() % 16 == 0 for t in (normed, w1, w3, out))
    if x.element_size() == 2 and min(m, n, k) >= 128 and n % 8 == 0 and k % 8 == 0 and aligned:
        tiles = [TensorDescriptor.from_tensor(t, [1, 1]) for t in (normed, w1, w3, out.view(m, n))]
        large_kernel[lambda c: (triton.cdiv(m, c["M"]) * triton.cdiv(n, c["N"]),)](*tiles, m, n, k)
    else:
        grid = (triton.cdiv(m, SMALL["M"]) * triton.cdiv(n, SMALL["N"]),)
        gate_kernel[grid](normed, w1, w3, out, m, n, k, *w1.stride(), *w3.stride(), SUM=compute,
                          **SMALL)
    return out
