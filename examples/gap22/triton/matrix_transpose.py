# kgate: task=gap22/matrix_transpose
"""A matrix turned in tiles of 32 x 32: rows are read, and written, where they are contiguous."""
import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, row_stride, column_stride,
                     BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i[:, None] * row_stride + j[None, :] * column_stride,
                mask=(i[:, None] < rows) & (j[None, :] < columns))
    tl.store(out_ptr + j[:, None] * rows + i[None, :], tl.trans(x),
             mask=(j[:, None] < columns) & (i[None, :] < rows))


def matrix_transpose(input):
    rows, columns = input.shape
    out = torch.empty((columns, rows), dtype=input.dtype, device=input.device)
    if out.numel():
        grid = (triton.cdiv(rows, 32), triton.cdiv(columns, 32))
        transpose_kernel[grid](input, out, rows, columns, *input.stride(), BLOCK=32)
    return out
