# kgate: task=gap22/embedding
"""Rows of a table, a program a block of one row."""
import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(index_ptr, weight_ptr, out_ptr, width, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < width
    row = tl.load(index_ptr + token).to(tl.int64)
    value = tl.load(weight_ptr + row * width + column, mask=mask)
    tl.store(out_ptr + token * width + column, value, mask=mask)


def embedding(input, weight):
    index, weight = input.contiguous(), weight.contiguous()
    width = weight.shape[1]
    out = torch.empty((*input.shape, width), dtype=weight.dtype, device=weight.device)
    if out.numel():
        block = min(triton.next_power_of_2(width), 1024)
        embedding_kernel[(index.numel(), triton.cdiv(width, block))](index, weight, out, width,
                                                                     BLOCK=block)
    return out
