import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    most = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
        top = tl.max(x, 0)
        if top > most:
            total = total * tl.exp(most - top)
            most = top
        total += tl.sum(tl.exp(x - most), 0)
    tl.store(out_ptr + row, most + tl.log(total))
