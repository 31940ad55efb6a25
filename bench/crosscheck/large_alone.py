#!/usr/bin/env python3
"""PyTorch alone, without kgate, past 2^31 outputs: is it wrong where known-cuda.txt says so?

    bench/crosscheck/large_alone.py nll_loss 46342
    bench/crosscheck/large_alone.py adaptive_avg_pool2d 8461

The batch is one entry expanded N times, so that every entry of the output has to equal the first, which is computed by
itself. One operation and size a process: a kernel that reads where it may not ends the CUDA context.
"""
import sys

import torch
import torch.nn.functional as F

OUTPUTS = 46342


def nll_loss(n):
    values = torch.randn(1, 5, OUTPUTS, device="cuda").half().expand(n, 5, OUTPUTS)
    target = torch.randint(0, 5, (1, OUTPUTS), device="cuda").expand(n, OUTPUTS)
    weight = torch.rand(5, device="cuda").half()
    return [F.nll_loss(values[:k], target[:k], weight, reduction="none") for k in (1, n)]


def adaptive_avg_pool2d(n):
    values = torch.randn(1, 8461, 2, 2, device="cuda").half().expand(n, 8461, 2, 2)
    return [F.adaptive_avg_pool2d(values[:k], (6, 5)) for k in (1, n)]


def main():
    operation, n = sys.argv[1], int(sys.argv[2])
    print("PyTorch %s, %s, %s of a batch of %d:" % (torch.__version__, torch.cuda.get_device_name(), operation, n), end=" ")
    try:
        one, out = {"nll_loss": nll_loss, "adaptive_avg_pool2d": adaptive_avg_pool2d}[operation](n)
        differ = sum(int((part != one).sum()) for part in out.split(1024))
        print("%d of %d elements differ from the first entry's" % (differ, out.numel()))
    except RuntimeError as e:
        print(str(e).split("\n", maxsplit=1)[0])


if __name__ == "__main__":
    main()
