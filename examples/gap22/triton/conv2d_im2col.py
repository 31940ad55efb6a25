# kgate: task=gap22/conv2d
"""2-d convolution as im2col and a product: one kernel writes every pixel's neighbourhood as a column,
the next one multiplies with one tile size. Slow: the columns are nine times the image, written and read."""
import torch
import triton
import triton.language as tl

TILE = {"M": 128, "N": 128, "K": 32, "num_warps": 8}
TILE_DOUBLE = {"M": 32, "N": 32, "K": 16, "num_warps": 4}


@triton.jit
def im2col_kernel(x_ptr, columns_ptr, height, width, pixels, out_width, x_image, x_channel, x_row,
                  x_column, stride_h, stride_w, pad_h, pad_w, step_h, step_w, all_terms,
                  R: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    """columns[image, channel * R * S + r * S + s, pixel]"""
    image, term = (tl.program_id(0) // all_terms).to(tl.int64), tl.program_id(0) % all_terms
    pixel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = pixel // out_width * stride_h - pad_h + term // S % R * step_h
    column = pixel % out_width * stride_w - pad_w + term % S * step_w
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width) & (pixel < pixels)
    x_ptr += image * x_image + term // (R * S) * x_channel
    x = tl.load(x_ptr + row * x_row + column * x_column, mask=inside, other=0.0)
    tl.store(columns_ptr + (image * all_terms + term) * pixels + pixel, x, mask=pixel < pixels)


@triton.jit
def product_kernel(w_ptr, columns_ptr, bias_ptr, out_ptr, filters, pixels, terms, groups,
                   M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BIAS: tl.constexpr,
                   SUM: tl.constexpr):
    """A group's filters times the columns of one image."""
    batch = tl.program_id(1).to(tl.int64)
    group = batch % groups
    tiles = tl.cdiv(pixels, N)
    i = tl.program_id(0) // tiles * M + tl.arange(0, M)
    j = tl.program_id(0) % tiles * N + tl.arange(0, N)
    w_ptr += (group * filters + i[:, None]) * terms
    columns_ptr += batch * terms * pixels + j[None, :]
    total = tl.zeros([M, N], SUM)
    for first in range(0, terms, K):
        k = first + tl.arange(0, K)
        w = tl.load(w_ptr + k[None, :], mask=(i[:, None] < filters) & (k[None, :] < terms),
                    other=0.0)
        columns = tl.load(columns_ptr + k[:, None].to(tl.int64) * pixels, other=0.0,
                          mask=(k[:, None] < terms) & (j[None, :] < pixels))
        total = tl.dot(w, columns, total, out_dtype=SUM)
    if BIAS:
        bias = tl.load(bias_ptr + group * filters + i, mask=i < filters, other=0.0)
        total += bias[:, None].to(SUM)
    out = out_ptr + (batch * filters + i[:, None]) * pixels + j[None, :]
    tl.store(out, total, mask=(i[:, None] < filters) & (j[None, :] < pixels))


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
    pixels, terms = out_height * out_width, channels * sides[0] * sides[1]
    columns = torch.empty((n, groups * terms, pixels), dtype=input.dtype, device=input.device)
    im2col_kernel[(n * groups * terms, triton.cdiv(pixels, 1024))](
        input, columns, height, width, pixels, out_width, *input.stride(), *stride, pads[0][0],
        pads[1][0], *dilation, groups * terms, R=sides[0], S=sides[1], BLOCK=1024)
    tile = TILE_DOUBLE if input.dtype == torch.float64 else TILE
    per_group = filters // groups
    grid = (triton.cdiv(per_group, tile["M"]) * triton.cdiv(pixels, tile["N"]), n * groups)
    product_kernel[grid](
        weight.contiguous(), columns, input if bias is None else bias.contiguous(), out, per_group,
        pixels, terms, groups, BIAS=bias is not None,
        SUM=tl.float64 if input.dtype == torch.float64 else tl.float32, **tile)
    return out
