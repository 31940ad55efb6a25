import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, tl.maximum(x, 0.0), mask=i < n)


def relu(x):
    if not x.is_cuda:
        return torch.relu(x)
    y = torch.empty_like(x)
    relu_kernel[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)
    return y


def test_relu(x, weight):
    y = torch.matmul(x, weight.t())
    assert torch.equal(relu(y), torch.relu(y))
