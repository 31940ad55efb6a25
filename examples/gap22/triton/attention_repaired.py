# kgate: task=gap22/attention
"""Causal linear attention in chunks, in one kernel: a program walks the chunks of one head and some
columns of v with k' v in registers, so that nothing is stored between. Too deep heads are computed with
stored states."""
import struct

import torch
import triton
import triton.language as tl

CHUNK = 64


@triton.jit
def walk_kernel(q_ptr, k_ptr, v_ptr, out_ptr, steps, depth, width, scale, scale_rest,
                CHUNK: tl.constexpr, D: tl.constexpr, E: tl.constexpr, SUM: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    e = tl.program_id(1) * E + tl.arange(0, E)
    scale = tl.zeros([1, 1], SUM) + scale + scale_rest
    state = tl.zeros([D, E], SUM)
    at = tl.arange(0, CHUNK)
    for first in range(0, steps, CHUNK):
        t = first + at
        rows = head * steps + t
        inside = (t[:, None] < steps) & (d[None, :] < depth)
        q = tl.load(q_ptr + rows[:, None] * depth + d[None, :], mask=inside, other=0.0)
        k = tl.load(k_ptr + rows[:, None] * depth + d[None, :], mask=inside, other=0.0)
        inside = (t[:, None] < steps) & (e[None, :] < width)
        v = tl.load(v_ptr + rows[:, None] * width + e[None, :], mask=inside, other=0.0)
        scores = tl.dot(q, tl.trans(k), out_dtype=SUM)
        scores = tl.where(at[:, None] >= at[None, :], scores, 0.0)
        out = tl.dot(scores.to(v.dtype), v, out_dtype=SUM)
        out = tl.dot(q, state.to(q.dtype), out, out_dtype=SUM)
        tl.store(out_ptr + rows[:, None] * width + e[None, :], out * scale, mask=inside)
        state = tl.dot(tl.trans(k), v, state, out_dtype=SUM)


tuned_walk = triton.autotune(
    [triton.Config({"CHUNK": chunk, "E": e}, num_warps=warps, num_stages=stages)
     for chunk, e, warps, stages in ((64, 64, 4, 2), (64, 64, 8, 2), (32, 64, 4, 2), (32, 64, 4, 1),
                                     (32, 128, 8, 1))],
    key=["steps", "depth", "width"])(walk_kernel)


@triton.jit
def state_kernel(k_ptr, v_ptr, state_ptr, steps, depth, width, CHUNK: tl.constexpr,
                 D: tl.constexpr, E: tl.constexpr, SUM: tl.constexpr):
    """What k' v of all chunks before each chunk adds up to."""
    head = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * D + tl.arange(0, D)
    e = tl.program_id(2) * E + tl.arange(0, E)
    chunks = tl.cdiv(steps, CHUNK)
    state = tl.zeros([D, E], SUM)
    for chunk in range(0, chunks):
        to = state_ptr + ((head * chunks + chunk) * depth + d[:, None]) * width + e[None, :]
        tl.store(to, state, mask=(d[:, None] < depth) & (e[None, :] < width))
        s = chunk * CHUNK + tl.arange(0, CHUNK)
        k = tl.load(k_ptr + (head * steps + s[None, :]) * depth + d[:, None], other=0.0,
                    mask=(s[None, :] < steps) & (d[:, None] < depth))
        v = tl.load(v_ptr + (head * steps + s[:, None]) * width + e[None, :], other=0.0,
                    mask=(s[:, None] < steps) & (e[None, :] < width))
        state = tl.dot(k, v, state, out_dtype=SUM)


@triton.jit
def output_kernel(q_ptr, k_ptr, v_ptr, state_ptr, out_ptr, steps, depth, width, scale, scale_rest,
                  CHUNK: tl.constexpr, D: tl.constexpr, E: tl.constexpr, SUM: tl.constexpr):
    head, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    e = tl.program_id(2) * E + tl.arange(0, E)
    t = chunk * CHUNK + tl.arange(0, CHUNK)
    state_ptr += (head * tl.cdiv(steps, CHUNK) + chunk) * depth * width
    scores = tl.zeros([CHUNK, CHUNK], SUM)
    out = tl.zeros([CHUNK, E], SUM)
    for first in range(0, depth, D):
        d = first + tl.arange(0, D)
        q = tl.load(q_ptr + (head * steps + t[:, None]) * depth + d[None, :], other=0.0,
                    mask=(t[:, None] < steps) & (d[None, :] < depth))
        k = tl.load(k_ptr + (head * steps + t[None, :]) * depth + d[:, None], other=0.0,
                    mask=(t[None, :] < steps) & (d[:, None] < depth))
        state = tl.load(state_ptr + d[:, None] * width + e[None, :], other=0.0,
                        mask=(d[:, None] < depth) & (e[None, :] < width))
        scores = tl.dot(q, k, scores, out_dtype=SUM)
        out = tl.dot(q, state.to(q.dtype), out, out_dtype=SUM)
    v = tl.load(v_ptr + (head * steps + t[:, None]) * width + e[None, :], other=0.0,
                mask=(t[:, None] < steps) & (e[None, :] < width))
    scores = tl.where(t[:, None] >= t[None, :], scores, 0.0)
    out = tl.dot(scores.to(v.dtype), v, out, out_dtype=SUM)
    out *= tl.zeros([1, 1], SUM) + scale + scale_rest
    tl.store(out_ptr + (head * steps + t[:, None]) * width + e[None, :], out,
             mask=(t[:, None] < steps) & (e[None, :] < width))


def parts(value):
    """Kernels get a Python float in float32: what that rounds away comes beside it."""
    high = struct.unpack("f", struct.pack("f", value))[0]
    return high, value - high


def block(n):
    return min(max(16, triton.next_power_of_2(n)), 64)


def walk(q, k, v, out, scale):
    steps, depth, width = q.shape[-2], q.shape[-1], v.shape[-1]
    heads = q.numel() // (steps * depth)
    sizes = (steps, depth, width, *parts(scale))
    d = max(16, triton.next_power_of_2(depth))
    compute = tl.float64 if q.dtype == torch.float64 else tl.float32
    if q.numel() >= 1 << 22:
        tuned_walk[lambda c: (heads, triton.cdiv(width, c["E"]))](q, k, v, out, *sizes, D=d,
                                                                  SUM=compute)
    else:
        e = block(width)
        walk_kernel[(heads, triton.cdiv(width, e))](q, k, v, out, *sizes, CHUNK=32, D=d, E=e,
                                                    SUM=compute, num_stages=1)
    return out


def attention(q, k, v, scale=None):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    steps, depth, width = q.shape[-2], q.shape[-1], v.shape[-1]
    scale = depth ** -0.5 if scale is None else scale
    out = torch.empty_like(v)
    if not out.numel():
        return out
    if depth <= 128:
        return walk(q, k, v, out, scale)
    heads, chunks = q.numel() // (steps * depth), triton.cdiv(steps, CHUNK)
    state = torch.empty((heads, chunks, depth, width), device=q.device,
                        dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)
    compute = tl.float64 if q.dtype == torch.float64 else tl.float32
    d, e = block(depth), block(width)
    state_kernel[(heads, triton.cdiv(depth, d), triton.cdiv(width, e))](
        k, v, state, steps, depth, width, CHUNK=CHUNK, D=d, E=e, SUM=compute)
    output_kernel[(heads, chunks, triton.cdiv(width, e))](
        q, k, v, state, out, steps, depth, width, *parts(scale), CHUNK=CHUNK, D=d, E=e,
        SUM=compute)
    return out
