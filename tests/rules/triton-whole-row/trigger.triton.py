import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * n + i, e / tl.sum(e, 0), mask=i < n)


def softmax(x):
    rows, n = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(n)
    softmax_kernel[(rows,)](x, out, n, BLOCK=BLOCK)
    return out
