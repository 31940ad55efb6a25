import torch


def gelu(x):
    return torch.nn.functional.gelu(x)


def scaled(x, n):
    return torch.exp(x * n)
