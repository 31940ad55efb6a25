# kgate: task=gap22/cross_entropy
"""A block a sample: the largest logit, the sum of exponentials, the loss; one block adds the losses up."""
import functools

import tilelang
import tilelang.language as T
import torch


@functools.cache
def loss_kernel(dtype, labels, threads=256):
    """Per sample: its loss and what it weighs. labels: class numbers, else probabilities."""
    M, N = T.dynamic("M"), T.dynamic("N")
    wide = "float64" if dtype == "float64" else "float32"

    @T.prim_func
    def main(
        X: T.Tensor((M, N), dtype),
        L: T.Tensor((M,), "int64"),
        P: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        loss: T.Tensor((M,), wide),
        weighs: T.Tensor((M,), wide),
        ignored: T.int64,
    ):
        with T.Kernel(M, threads=threads) as row:
            x = T.alloc_fragment((threads,), wide)
            m = T.alloc_fragment((1,), wide)
            s = T.alloc_fragment((1,), wide)
            T.fill(x, -T.infinity(wide))
            for k in T.serial(T.ceildiv(N, threads)):
                for i in T.Parallel(threads):
                    if k * threads + i < N:
                        x[i] = T.max(x[i], T.cast(X[row, k * threads + i], wide))
            T.reduce_max(x, m, dim=0)
            T.clear(x)
            for k in T.serial(T.ceildiv(N, threads)):
                for i in T.Parallel(threads):
                    if k * threads + i < N:
                        x[i] += T.exp(T.cast(X[row, k * threads + i], wide) - m[0])
            T.reduce_sum(x, s, dim=0)
            s[0] = T.log(s[0])
            if labels:
                if L[row] == ignored:
                    loss[row] = 0
                    weighs[row] = 0
                else:
                    # Not m + log s: of two close numbers the difference keeps its digits.
                    loss[row] = T.cast(W[L[row]], wide) * (s[0] - (T.cast(X[row, L[row]], wide) - m[0]))
                    weighs[row] = T.cast(W[L[row]], wide)
            else:
                T.clear(x)
                for k in T.serial(T.ceildiv(N, threads)):
                    for i in T.Parallel(threads):
                        if k * threads + i < N:
                            p = T.cast(P[row, k * threads + i], wide) * T.cast(W[k * threads + i], wide)
                            x[i] += p * (s[0] - (T.cast(X[row, k * threads + i], wide) - m[0]))
                T.reduce_sum(x, m, dim=0)
                loss[row] = m[0]
                weighs[row] = 1

    return tilelang.compile(main)


@functools.cache
def total_kernel(dtype, wide, mean, threads=256):
    M = T.dynamic("M")

    @T.prim_func
    def main(loss: T.Tensor((M,), wide), weighs: T.Tensor((M,), wide), Y: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=threads) as _:
            x = T.alloc_fragment((threads,), wide)
            w = T.alloc_fragment((threads,), wide)
            sum_x = T.alloc_fragment((1,), wide)
            sum_w = T.alloc_fragment((1,), wide)
            T.clear(x)
            T.clear(w)
            for k in T.serial(T.ceildiv(M, threads)):
                for i in T.Parallel(threads):
                    if k * threads + i < M:
                        x[i] += loss[k * threads + i]
                        w[i] += weighs[k * threads + i]
            T.reduce_sum(x, sum_x, dim=0)
            T.reduce_sum(w, sum_w, dim=0)
            if mean:
                Y[0] = T.cast(sum_x[0] / sum_w[0], dtype)
            else:
                Y[0] = T.cast(sum_x[0], dtype)

    return tilelang.compile(main)


def cross_entropy(input, target, *, weight=None, ignore_index=-100, reduction="mean"):
    labels = not target.is_floating_point()
    x = input.movedim(1, -1) if input.ndim > 1 else input.view(1, -1)
    shape, n = (x.shape[:-1] if input.ndim > 1 else ()), x.shape[-1]
    x = x.contiguous().view(-1, n)
    rows = x.shape[0]
    dtype = str(x.dtype).removeprefix("torch.")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    loss, weighs = (torch.empty(rows, dtype=wide, device=x.device) for _ in range(2))
    w = x.new_ones(n) if weight is None else weight.contiguous()
    if labels:
        p, t = x, target.long().contiguous().view(-1)
    else:
        p, t = (target.movedim(1, -1) if input.ndim > 1 else target).contiguous().view(-1, n), weighs.long()
    if rows:
        loss_kernel(dtype, labels)(x, t, p, w, loss, weighs, ignore_index)
    if reduction == "none":
        return loss.to(input.dtype).view(shape)
    y = x.new_zeros(1) if reduction == "sum" else x.new_full((1,), float("nan"))
    if rows:
        total_kernel(dtype, str(wide).removeprefix("torch."), reduction == "mean")(loss, weighs, y)
    return y.view(())
