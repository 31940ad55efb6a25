// kgate: task=relu
// One element a thread: the kernel that bench/clocks measures with four clocks, and a candidate like any other.
#include <cuda_runtime.h>
#include <kgate/kernel.h>

__global__ void relu_plain(const float *x, float *y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0;
}

// Layouts and dtypes that the plain kernel does not take: slow and right.
struct view {
    DLTensor t;
    int64_t shape[8], stride[8];
};
__global__ void relu_any(view x, view y, int64_t n) {
    x.t.shape = x.shape;
    x.t.strides = x.stride;
    y.t.shape = y.shape;
    y.t.strides = y.stride;
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = kg_get(&x.t, i);
    kg_put(&y.t, i, v > 0 || v != v ? v : 0);
}
static view view_of(const DLTensor *t) {
    view v;
    v.t = *t;
    for (int i = 0; i < t->ndim; i++) {
        v.shape[i] = t->shape[i];
        v.stride[i] = kg_stride(t, i);
    }
    return v;
}

extern "C" int relu(const DLTensor *input, bool inplace, DLTensor *out, cudaStream_t stream) {
    (void)inplace;   // then out is the input
    int64_t n = kg_elements(input);
    if (n == 0) return 0;
    unsigned blocks = (unsigned)((n + 255) / 256);
    bool plain = input->dtype.code == kDLFloat && input->dtype.bits == 32 && kg_contiguous(input) && kg_contiguous(out);
    if (plain) relu_plain<<<blocks, 256, 0, stream>>>((const float *)input->data, (float *)out->data, n);
    else relu_any<<<blocks, 256, 0, stream>>>(view_of(input), view_of(out), n);
    return (int)cudaGetLastError();
}
