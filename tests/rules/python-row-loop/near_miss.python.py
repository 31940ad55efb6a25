import torch


def mean_reduction(x, dims):
    count = 1
    for i in range(len(x.shape)):
        count *= x.shape[i] if i in dims else 1
    for i in range(x.dim()):
        count = count * x.size(i) // x.shape[i]
    return x.sum(dims) / count
