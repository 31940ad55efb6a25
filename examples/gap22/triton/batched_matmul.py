# kgate: task=gap22/batched_matmul
"""out[m, n] = sum over k of A[m, k] B[m, n, k]: a program 16 outputs of one m, 16 terms at a time. Slow:
a tile is 32 bytes of 16 rows of B, two elements a thread, and one load at a time is under way."""
import torch
import triton
import triton.language as tl


@triton.jit
def batched_matmul_kernel(a_ptr, b_ptr, out_ptr, n, k, a_row, a_column, b_batch, b_row, b_column,
                          N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr):
    m = tl.program_id(0).to(tl.int64)
    j = (tl.program_id(1) * N + tl.arange(0, N)).to(tl.int64)
    total = tl.zeros([N], SUM)
    for first in range(0, k, K):
        depth = first + tl.arange(0, K)
        a = tl.load(a_ptr + m * a_row + depth * a_column, mask=depth < k, other=0.0)
        b = tl.load(b_ptr + m * b_batch + j[:, None] * b_row + depth[None, :] * b_column,
                    mask=(j[:, None] < n) & (depth[None, :] < k), other=0.0)
        total += tl.sum(b.to(SUM) * a.to(SUM)[None, :], 1)
    tl.store(out_ptr + m * n + j, total, mask=j < n)


def batched_matmul(A, B):
    m, n, k = B.shape
    out = torch.empty((m, n), dtype=A.dtype, device=A.device)
    if out.numel():
        batched_matmul_kernel[(m, triton.cdiv(n, 16))](
            A, B, out, n, k, *A.stride(), *B.stride(), N=16, K=16,
            SUM=tl.float64 if A.dtype == torch.float64 else tl.float32)
    return out
