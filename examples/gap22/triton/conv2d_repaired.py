# kgate: task=gap22/conv2d
"""2-d convolution as an implicit product on the matrix units: the image is copied once, channels last,
with its border and with channels filled up to whole tiles, so that the product's loads are wide,
aligned and without masks; filters times pixels, tiles chosen by measuring."""
import torch
import triton
import triton.language as tl

SMALL = {"F": 32, "P": 64, "num_warps": 4, "num_stages": 2}


@triton.jit
def channels_last_kernel(x_ptr, to_ptr, channels, height, width, rows, columns, all_channels,
                         x_image, x_channel, x_row, x_column, pad_h, pad_w, FILLED: tl.constexpr,
                         W: tl.constexpr, C: tl.constexpr):
    """to[image, row, column, group * FILLED + channel], zeros outside."""
    image, row = (tl.program_id(0) // rows).to(tl.int64), tl.program_id(0) % rows
    column = tl.program_id(1) * W + tl.arange(0, W)
    to_channel = tl.program_id(2) * C + tl.arange(0, C)
    group, channel = to_channel // FILLED, to_channel % FILLED
    inside = (column >= pad_w) & (column < width + pad_w) & (row >= pad_h) & (row < height + pad_h)
    from_ptr = x_ptr + image * x_image + (row - pad_h) * x_row
    x = tl.load(from_ptr + (group * channels + channel)[:, None] * x_channel
                + (column - pad_w)[None, :] * x_column, other=0.0,
                mask=inside[None, :] & (channel < channels)[:, None]
                & (to_channel < all_channels)[:, None])
    to = to_ptr + ((image * rows + row) * columns + column[:, None]) * all_channels
    tl.store(to + to_channel[None, :], tl.trans(x),
             mask=(column[:, None] < columns) & (to_channel[None, :] < all_channels))


@triton.jit
def conv_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, filters, pixels, total_pixels, out_width, rows,
                columns, all_channels, groups, stride_h, stride_w, step_h, step_w, R: tl.constexpr,
                S: tl.constexpr, FILLED: tl.constexpr, BIAS: tl.constexpr, SUM: tl.constexpr,
                F: tl.constexpr, P: tl.constexpr, K: tl.constexpr):
    group = tl.program_id(1)
    tiles_f = tl.cdiv(filters, F)
    o = tl.program_id(0) % tiles_f * F + tl.arange(0, F)
    p = (tl.program_id(0) // tiles_f).to(tl.int64) * P + tl.arange(0, P)
    inside_o, inside_p = o < filters, p < total_pixels
    image, pixel = p // pixels, (p % pixels).to(tl.int32)
    # Past the end the last filter and pixel are computed again, and not stored.
    w_rows = group.to(tl.int64) * filters + tl.minimum(o, filters - 1)
    last = tl.minimum(p, total_pixels - 1)
    y = (last % pixels) // out_width * stride_h
    x = (last % pixels) % out_width * stride_w
    k = tl.arange(0, K)
    starts = ((last // pixels * rows + y) * columns + x) * all_channels + group * FILLED
    x_ptrs = x_ptr + starts[None, :] + k[:, None]
    w_ptrs = w_ptr + w_rows[:, None] * (R * S * FILLED) + k[None, :]
    total = tl.zeros([F, P], SUM)
    for step in range(0, R * S * (FILLED // K)):
        place = step // (FILLED // K)
        channel = step % (FILLED // K) * K
        shift = (place // S * step_h * columns + place % S * step_w) * all_channels + channel
        total = tl.dot(tl.load(w_ptrs + step * K), tl.load(x_ptrs + shift), total, out_dtype=SUM)
    if BIAS:
        bias = tl.load(bias_ptr + group * filters + o, mask=inside_o, other=0.0)
        total += bias[:, None].to(SUM)
    out = out_ptr + ((image * groups + group) * filters * pixels + pixel)[None, :]
    tl.store(out + o[:, None].to(tl.int64) * pixels, total,
             mask=inside_o[:, None] & inside_p[None, :])


tuned_kernel = triton.autotune(
    [triton.Config({"F": f, "P": p}, num_warps=warps, num_stages=stages)
     for f, p, warps, stages in ((128, 128, 4, 3), (128, 128, 8, 4), (128, 256, 8, 3),
                                 (256, 128, 8, 3), (64, 128, 4, 4))],
    key=["filters", "total_pixels", "FILLED"])(conv_kernel)


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
    if not out.numel():
        return out
    depth = 16 if channels <= 16 else 32 if channels <= 32 or input.element_size() > 2 else 64
    filled = triton.cdiv(channels, depth) * depth
    rows, columns = height + sum(pads[0]), width + sum(pads[1])
    image = torch.empty((n, rows, columns, groups * filled), dtype=input.dtype, device=input.device)
    grid = (n * rows, triton.cdiv(columns, 64), triton.cdiv(groups * filled, 64))
    channels_last_kernel[grid](
        input, image, channels, height, width, rows, columns, groups * filled, *input.stride(),
        pads[0][0], pads[1][0], FILLED=filled, W=64, C=64)
    packed = torch.zeros((filters, *sides, filled), dtype=input.dtype, device=input.device)
    packed[..., :channels] = weight.permute(0, 2, 3, 1)
    per_group, pixels = filters // groups, out_height * out_width
    large = n * pixels * per_group >= 1 << 20 and input.element_size() == 2
    kernel, tile = (tuned_kernel, {}) if large else (conv_kernel, SMALL)
    kernel[lambda c: (triton.cdiv(per_group, c["F"]) * triton.cdiv(n * pixels, c["P"]), groups)](
        image, packed, input if bias is None else bias.contiguous(), out, per_group, pixels,
        n * pixels, out_width, rows, columns, groups * filled, groups, *stride, *dilation,
        R=sides[0], S=sides[1], FILLED=filled, BIAS=bias is not None,
        SUM=tl.float64 if input.dtype == torch.float64 else tl.float32, K=depth, **tile)
    return out
