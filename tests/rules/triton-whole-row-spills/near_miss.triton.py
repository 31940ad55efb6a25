import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    most = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(most, tl.max(x, 0))
        total = total * tl.exp(most - higher) + tl.sum(tl.exp(x - higher), 0)
        most = higher
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n).to(tl.float32)
        tl.store(out_ptr + row * n + i, tl.exp(x - most) / total, mask=i < n)


def softmax(x):
    rows, n = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, n, BLOCK=min(4096, triton.next_power_of_2(n)))
    return out
