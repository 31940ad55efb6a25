import torch


def gelu(x):
    return torch.mul(x * 0.5, 1 + torch.erf(x / 1.4142135623730951))


def mish(x):
    return x * torch.tanh(torch.log(1 + torch.exp(x)))
