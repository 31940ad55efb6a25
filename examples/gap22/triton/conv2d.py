# kgate: task=gap22/conv2d
"""2-d convolution as direct loops: a program 256 pixels of one filter, over channels, rows and columns
of the filter. Slow: no matrix instructions, and every input is loaded again for every filter."""
import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, height, width, filters, channels, out_height,
                out_width, x_image, x_channel, x_row, x_column, stride_h, stride_w, pad_h, pad_w,
                step_h, step_w, groups, R: tl.constexpr, S: tl.constexpr, BIAS: tl.constexpr,
                SUM: tl.constexpr, BLOCK: tl.constexpr):
    image = (tl.program_id(0) // filters).to(tl.int64)
    o = tl.program_id(0) % filters
    pixel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < out_height * out_width
    top = pixel // out_width * stride_h - pad_h
    left = pixel % out_width * stride_w - pad_w
    x_ptr += image * x_image + o // (filters // groups) * channels * x_channel
    w_ptr += o.to(tl.int64) * channels * R * S
    total = tl.zeros([BLOCK], SUM)
    for c in range(0, channels):
        for r in range(0, R):
            for s in range(0, S):
                row, column = top + r * step_h, left + s * step_w
                mask = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
                x = tl.load(x_ptr + c * x_channel + row * x_row + column * x_column, mask=mask,
                            other=0.0)
                w = tl.load(w_ptr + (c * R + r) * S + s)
                total += x.to(SUM) * w.to(SUM)
    if BIAS:
        total += tl.load(bias_ptr + o).to(SUM)
    out = out_ptr + (image * filters + o) * out_height * out_width + pixel
    tl.store(out, total, mask=inside)


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value) * (2 // len(value))


def paddings(padding, sides, dilation):
    """Zeros in front and behind, of rows and of columns."""
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding == "same":
        total = [d * (n - 1) for n, d in zip(sides, dilation)]
        return tuple((t // 2, t - t // 2) for t in total)
    return tuple((p, p) for p in pair(padding))


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if input.dim() == 3:
        return conv2d(input[None], weight, bias, stride, padding, dilation, groups)[0]
    n, _, height, width = input.shape
    filters, channels, *sides = weight.shape
    stride, dilation = pair(stride), pair(dilation)
    pads = paddings(padding, sides, dilation)
    out_height, out_width = ((size + sum(pad) - d * (side - 1) - 1) // step + 1
                             for size, pad, d, side, step in zip((height, width), pads, dilation,
                                                                 sides, stride))
    out = torch.empty((n, filters, out_height, out_width), dtype=input.dtype, device=input.device)
    if out.numel():
        grid = (n * filters, triton.cdiv(out_height * out_width, 256))
        conv_kernel[grid](
            input, weight.contiguous(), input if bias is None else bias.contiguous(), out, height,
            width, filters, channels, out_height, out_width, *input.stride(), *stride, pads[0][0],
            pads[1][0], *dilation, groups, R=sides[0], S=sides[1], BIAS=bias is not None,
            SUM=tl.float64 if input.dtype == torch.float64 else tl.float32, BLOCK=256)
    return out
