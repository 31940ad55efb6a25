# kgate: task=gap22/linear_activation
"""RMS norm, both products and the gate in one kernel with one tile size, 64 x 64 x 32, programs in
row-major order. Slow for large matrices: small tiles, no shared strips, and each program normalises
its rows of x again."""
import struct

import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x_ptr, w1_ptr, w3_ptr, g_ptr, out_ptr, m, n, k, eps, eps_rest, w1_row, w1_column,
                w3_row, w3_column, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                SUM: tl.constexpr):
    program = tl.program_id(0)
    tiles_n = tl.cdiv(n, N)
    i = (program // tiles_n * M + tl.arange(0, M)).to(tl.int64)
    j = (program % tiles_n * N + tl.arange(0, N)).to(tl.int64)
    squares = tl.zeros([M], SUM)
    p = tl.zeros([M, N], SUM)
    q = tl.zeros([M, N], SUM)
    for first in range(0, k, K):
        depth = first + tl.arange(0, K)
        x = tl.load(x_ptr + i[:, None] * k + depth[None, :], other=0.0,
                    mask=(i[:, None] < m) & (depth[None, :] < k)).to(SUM)
        g = tl.load(g_ptr + depth, mask=depth < k, other=0.0).to(SUM)
        inside = (depth[:, None] < k) & (j[None, :] < n)
        w1 = tl.load(w1_ptr + depth[:, None] * w1_column + j[None, :] * w1_row, mask=inside,
                     other=0.0)
        w3 = tl.load(w3_ptr + depth[:, None] * w3_column + j[None, :] * w3_row, mask=inside,
                     other=0.0)
        squares += tl.sum(x * x, 1)
        scaled = (x * g[None, :]).to(w1.dtype)
        p = tl.dot(scaled, w1, p, out_dtype=SUM)
        q = tl.dot(scaled, w3, q, out_dtype=SUM)
    scale = (1.0 / tl.sqrt(squares / k + eps + eps_rest))[:, None]
    p *= scale
    out = p / (1.0 + tl.exp(-p)) * (q * scale)
    tl.store(out_ptr + i[:, None] * n + j[None, :], out, mask=(i[:, None] < m) & (j[None, :] < n))


def parts(value):
    """Kernels get a Python float in float32: what that rounds away comes beside it."""
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def linear_activation(x, w1, w3, rms_w, eps=1e-6):
    k, n = x.shape[-1], w1.shape[0]
    rows = x.contiguous().reshape(x.numel() // k, k)
    out = torch.empty((*x.shape[:-1], n), dtype=x.dtype, device=x.device)
    if out.numel():
        m = rows.shape[0]
        gate_kernel[(triton.cdiv(m, 64) * triton.cdiv(n, 64),)](
            rows, w1, w3, rms_w.contiguous(), out, m, n, k, *parts(eps), *w1.stride(),
            *w3.stride(), M=64, N=64, K=32,
            SUM=tl.float64 if x.dtype == torch.float64 else tl.float32)
    return out
