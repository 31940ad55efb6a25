# kgate: task=gap22/cross_entropy
"""Cross entropy, a program a sample: its classes are read once, in blocks of up to 32,768, with a
running maximum and sum; the samples' losses are added up after."""
import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(x_ptr, target_ptr, weight_ptr, loss_ptr, total_ptr, n, ignore,
                         PROBABILITIES: tl.constexpr, WEIGHT: tl.constexpr, BLOCK: tl.constexpr,
                         DOUBLE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    compute = tl.float64 if DOUBLE else tl.float32
    one = tl.arange(0, 1)
    most = tl.full([1], float("-inf"), compute)
    total = tl.zeros([1], compute)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + column, mask=column < n, other=float("-inf")).to(compute)
        higher = tl.maximum(most, tl.max(x, 0))
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(most - base) + tl.sum(tl.exp(x - base), 0)
        most = higher
    log_sum = most + tl.log(total)
    if PROBABILITIES:
        loss = tl.zeros([1], compute)
        for start in range(0, n, BLOCK):
            column = start + tl.arange(0, BLOCK)
            inside = column < n
            x = tl.load(x_ptr + row * n + column, mask=inside, other=0.0).to(compute)
            p = tl.load(target_ptr + row * n + column, mask=inside, other=0.0).to(compute)
            if WEIGHT:
                p *= tl.load(weight_ptr + column, mask=inside, other=0.0).to(compute)
            loss += tl.sum(tl.where(inside, p * (log_sum - x), 0.0), 0)
        counted = tl.full([1], 1.0, compute)
    else:
        target = tl.load(target_ptr + row + one).to(tl.int64)
        kept = target != ignore
        at = tl.where(kept, target, 0)
        counted = tl.where(kept, 1.0, 0.0).to(compute)
        if WEIGHT:
            counted = tl.where(kept, tl.load(weight_ptr + at).to(compute), 0.0)
        x = tl.load(x_ptr + row * n + at).to(compute)
        loss = tl.where(kept, counted * (log_sum - x), 0.0)
    tl.store(loss_ptr + row + one, loss)
    tl.store(total_ptr + row + one, counted)


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean"):
    x = (input if input.dim() == 1 else input.movedim(1, -1)).contiguous()
    probabilities = target.is_floating_point()
    if probabilities and target.dim() > 1:
        target = target.movedim(1, -1)
    target = target.contiguous()
    n, shape = x.shape[-1], x.shape[:-1]
    compute = torch.float64 if x.dtype == torch.float64 else torch.float32
    loss, counted = torch.empty((2, *shape), dtype=compute, device=x.device)
    if loss.numel():
        block = min(triton.next_power_of_2(n), 32768)
        cross_entropy_kernel[(loss.numel(),)](
            x, target, x if weight is None else weight.contiguous(), loss, counted, n,
            ignore_index, PROBABILITIES=probabilities, WEIGHT=weight is not None, BLOCK=block,
            DOUBLE=compute == torch.float64,
            num_warps=32 if block >= 32768 else 16 if block >= 8192 else 4)
    if reduction == "none":
        return loss.to(input.dtype)
    loss = loss.sum()
    return (loss if reduction == "sum" else loss / counted.sum()).to(input.dtype)
