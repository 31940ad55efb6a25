# kgate: task=gelu
"""GELU as a plain callable over torch tensors, on whatever device they are."""
import math

import torch


def gelu(input, approximate="none"):
    x = input if input.dtype == torch.float64 else input.float()
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        y = x * torch.sigmoid(2 * inner)  # (1 + tanh z) / 2, without the cancellation
    else:
        y = 0.5 * x * torch.special.erfc(-x * math.sqrt(0.5))
    return y.to(input.dtype)
