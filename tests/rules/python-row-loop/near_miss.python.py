import torch


def mean_reduction(x, dims):
    count = 1
    for i in range(len(x.shape)):
        count *= x.shape[i] if i in dims else 1
    for i in range(x.dim()):
        count = count * x.size(i) // x.shape[i]
    return x.sum(dims) / count


@triton.jit
def kernel(out, coords, strides):
    at = 0
    for i in range(coords.shape[0]):
        at += coords[i] * strides[i]
    tl.store(out + at, 1)
