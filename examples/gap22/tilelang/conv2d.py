# kgate: task=gap22/conv2d
"""An output a thread, in loops over channels and taps; halves are converted before and after."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def direct_kernel(dtype, threads=256):
    batch, C, H, W = T.dynamic("batch"), T.dynamic("C"), T.dynamic("H"), T.dynamic("W")
    F, depth, R, S = T.dynamic("F"), T.dynamic("depth"), T.dynamic("R"), T.dynamic("S")
    OH, OW = T.dynamic("OH"), T.dynamic("OW")

    @T.prim_func
    def main(
        X: T.Tensor((batch, C, H, W), dtype),
        K: T.Tensor((F, depth, R, S), dtype),
        B: T.Tensor((F,), dtype),
        Y: T.Tensor((batch, F, OH, OW), dtype),
        stride_h: T.int32,
        stride_w: T.int32,
        pad_h: T.int32,
        pad_w: T.int32,
        dilation_h: T.int32,
        dilation_w: T.int32,
        per_group: T.int32,
    ):
        with T.Kernel(T.ceildiv(OH * OW, threads), F, batch, threads=threads) as (p, f, n):
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


def conv2d(input, weight, *, bias=None, stride=1, padding=0, dilation=1, groups=1):
    x = input if input.ndim == 4 else input.unsqueeze(0)
    stride, dilation = pair(stride), pair(dilation)
    y = direct(x, weight, bias, stride, paddings(padding, dilation, weight.shape[2:]), dilation, groups)
    return y if input.ndim == 4 else y.squeeze(0)
