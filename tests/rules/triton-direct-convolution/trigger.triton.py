import torch
import triton
import triton.language as tl


@triton.jit
def conv2d_kernel(x_ptr, w_ptr, out_ptr, C, H, W, R, S, P, Q, BLOCK: tl.constexpr):
    filter = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    p, q = i // Q, i % Q
    acc = tl.zeros([BLOCK], tl.float32)
    for c in range(C):
        for r in range(R):
            for s in range(S):
                x = tl.load(x_ptr + (c * H + p + r) * W + q + s, mask=i < P * Q, other=0.0)
                w = tl.load(w_ptr + ((filter * C + c) * R + r) * S + s)
                acc += x * w
    tl.store(out_ptr + filter * P * Q + i, acc, mask=i < P * Q)
