import torch
import triton
import triton.language as tl


@triton.jit
def column_max_kernel(x_ptr, out_ptr, M, N, stride_m, BLOCK_N: tl.constexpr):
    n = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    best = tl.full([BLOCK_N], -float("inf"), tl.float32)
    for m in range(M):
        x = tl.load(x_ptr + m * stride_m + n, mask=n < N, other=-float("inf"))
        best = tl.maximum(best, x)
    tl.store(out_ptr + n, best, mask=n < N)
