import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0))
    tl.store(out_ptr, total)


@triton.jit
def part_kernel(x_ptr, parts_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(pid * BLOCK, n, 512 * BLOCK):
        i = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(parts_ptr + pid, tl.sum(sums))


def total(x):
    out = torch.empty((), dtype=x.dtype, device=x.device)
    parts = torch.empty(512, dtype=x.dtype, device=x.device)
    part_kernel[(512,)](x, parts, x.numel(), BLOCK=1024)
    sum_kernel[(1,)](parts, out, 512, BLOCK=512)
    return out
