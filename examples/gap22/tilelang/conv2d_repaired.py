# kgate: task=gap22/conv2d
"""Halves with stride 1: channels last, padded, an implicit product of filters and the pixels of a row by T.gemm.
What else there is: an output a thread, in loops."""
import functools

import tilelang
import tilelang.language as T
import torch
import torch.nn.functional as F


@functools.cache
def direct_kernel(dtype, threads=256):
    batch, C, H, W = T.dynamic("batch"), T.dynamic("C"), T.dynamic("H"), T.dynamic("W")
    filters, depth, R, S = T.dynamic("filters"), T.dynamic("depth"), T.dynamic("R"), T.dynamic("S")
    OH, OW = T.dynamic("OH"), T.dynamic("OW")

    @T.prim_func
    def main(
        X: T.Tensor((batch, C, H, W), dtype),
        K: T.Tensor((filters, depth, R, S), dtype),
        B: T.Tensor((filters,), dtype),
        Y: T.Tensor((batch, filters, OH, OW), dtype),
        stride_h: T.int32,
        stride_w: T.int32,
        pad_h: T.int32,
        pad_w: T.int32,
        dilation_h: T.int32,
        dilation_w: T.int32,
        per_group: T.int32,
    ):
        with T.Kernel(T.ceildiv(OH * OW, threads), filters, batch, threads=threads) as (p, f, n):
            acc = T.alloc_fragment((threads,), dtype)
            for i in T.Parallel(threads):
                acc[i] = B[f]
            for c in T.serial(depth):
                for r in T.serial(R):
                    for s in T.serial(S):
                        for i in T.Parallel(threads):
                            h = (p * threads + i) // OW * stride_h - pad_h + r * dilation_h
                            w = (p * threads + i) % OW * stride_w - pad_w + s * dilation_w
                            if h >= 0 and h < H and w >= 0 and w < W:
                                acc[i] += X[n, f // per_group * depth + c, h, w] * K[f, c, r, s]
            for i in T.Parallel(threads):
                if p * threads + i < OH * OW:
                    Y[n, f, (p * threads + i) // OW, (p * threads + i) % OW] = acc[i]

    return tilelang.compile(main)


@functools.cache
def implicit_kernel(dtype, R, S, pixels, block_f=128, block_c=64):
    batch, H, W, C = T.dynamic("batch"), T.dynamic("H"), T.dynamic("W"), T.dynamic("C")
    filters, OH, OW = T.dynamic("filters"), T.dynamic("OH"), T.dynamic("OW")

    @T.prim_func
    def main(
        X: T.Tensor((batch, H, W, C), dtype),
        K: T.Tensor((R * S, filters, C), dtype),
        B: T.Tensor((filters,), dtype),
        Y: T.Tensor((batch, filters, OH, OW), dtype),
        dilation_h: T.int32,
        dilation_w: T.int32,
    ):
        with T.Kernel(T.ceildiv(OW, pixels) * OH, T.ceildiv(filters, block_f), batch, threads=256) as (p, bf, n):
            k = T.alloc_shared((block_f, block_c), dtype)
            x = T.alloc_shared((pixels, block_c), dtype)
            y = T.alloc_fragment((block_f, pixels), "float32")
            h = p // T.ceildiv(OW, pixels)
            w = p % T.ceildiv(OW, pixels) * pixels
            T.clear(y)
            for step in T.Pipelined(R * S * T.ceildiv(C, block_c), num_stages=3):
                tap = step // T.ceildiv(C, block_c)
                c = step % T.ceildiv(C, block_c) * block_c
                T.copy(K[tap, bf * block_f, c], k)
                T.copy(X[n, h + tap // S * dilation_h, w + tap % S * dilation_w, c], x)
                T.gemm(k, x, y, transpose_B=True)
            for i, j in T.Parallel(block_f, pixels):
                if bf * block_f + i < filters and w + j < OW:
                    Y[n, bf * block_f + i, h, w + j] = T.cast(y[i, j] + T.cast(B[bf * block_f + i], "float32"), dtype)

    return tilelang.compile(main)


def pair(value):
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def paddings(padding, dilation, kernel):
    """(before, after) in each direction."""
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel)]
        return [(t // 2, t - t // 2) for t in total]
    return [(p, p) for p in pair(0 if padding == "valid" else padding)]


def direct(x, weight, bias, stride, pads, dilation, groups):
    sizes = [
        (n + sum(p) - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(x.shape[2:], pads, dilation, weight.shape[2:], stride)
    ]
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    y = torch.empty(x.shape[0], weight.shape[0], *sizes, dtype=wide, device=x.device)
    if y.numel():
        b = torch.zeros(weight.shape[0], dtype=wide, device=x.device) if bias is None else bias.to(wide).contiguous()
        kernel = direct_kernel(str(wide).removeprefix("torch."))
        numbers = (*stride, pads[0][0], pads[1][0], *dilation, weight.shape[0] // groups)
        kernel(x.to(wide).contiguous(), weight.to(wide).contiguous(), b, y, *numbers)
    return y.to(x.dtype)


def implicit(x, weight, bias, pads, dilation):
    filters, channels, R, S = weight.shape
    (top, bottom), (left, right) = pads
    k = F.pad(weight.permute(2, 3, 0, 1), (0, -channels % 8)).reshape(R * S, filters, -1).contiguous()
    x = F.pad(x.permute(0, 2, 3, 1), (0, -channels % 8, left, right, top, bottom)).contiguous()
    oh, ow = x.shape[1] - dilation[0] * (R - 1), x.shape[2] - dilation[1] * (S - 1)
    y = torch.empty(x.shape[0], filters, oh, ow, dtype=x.dtype, device=x.device)
    if y.numel():
        b = x.new_zeros(filters) if bias is None else bias.contiguous()
        kernel = implicit_kernel(str(x.dtype).removeprefix("torch."), R, S, 128 if ow > 64 else 64)
        kernel(x, k, b, y, *dilation)
    return y


def conv2d(input, weight, *, bias=None, stride=1, padding=0, dilation=1, groups=1):
    x = input if input.ndim == 4 else input.unsqueeze(0)
    stride, dilation = pair(stride), pair(dilation)
    pads = paddings(padding, dilation, weight.shape[2:])
    if x.dtype in (torch.float16, torch.bfloat16) and stride == (1, 1) and groups == 1:
        y = implicit(x, weight, bias, pads, dilation)
    else:
        y = direct(x, weight, bias, stride, pads, dilation, groups)
    return y if input.ndim == 4 else y.squeeze(0)
