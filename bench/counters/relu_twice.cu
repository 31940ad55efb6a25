// kgate: task=relu
// A right ReLU that goes over its output a second time: it moves four bytes for every two that the task needs, so that
// its dram_ratio is 2 at any size that no cache holds.
//
// With -DALONE a program: `relu_twice N SECONDS` calls it on N floats for so long, twice at least, and prints how often
// and how many bytes that takes.
#include <cuda_runtime.h>
#include <kgate/kernel.h>

template <typename T>
__global__ void relu_pass(const T *x, T *y, int64_t n) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0;
}

template <typename T>
static void twice(const T *x, T *y, int64_t n, cudaStream_t stream) {
    const unsigned blocks = (unsigned)((n + 255) / 256);
    relu_pass<<<blocks, 256, 0, stream>>>(x, y, n);
    relu_pass<<<blocks, 256, 0, stream>>>((const T *)y, y, n);
}

#ifdef ALONE
#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
    const int64_t n = argc > 1 ? atoll(argv[1]) : 1 << 27;
    const double seconds = argc > 2 ? atof(argv[2]) : 0;
    float *x = nullptr, *y = nullptr;
    if (cudaMalloc(&x, n * sizeof *x) || cudaMalloc(&y, n * sizeof *y) || cudaMemset(x, 0, n * sizeof *x)) return 1;
    twice(x, y, n, 0);
    if (cudaDeviceSynchronize()) return 1;
    const auto start = std::chrono::steady_clock::now();
    int64_t calls = 1;
    do {
        twice(x, y, n, 0);
        if (cudaDeviceSynchronize()) return 1;
        calls++;
    } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double bytes = 4.0 * (double)n * sizeof *x;
    printf("relu_twice: %lld floats, %lld calls, %.0f bytes a call, %.4g bytes a second\n", (long long)n,
           (long long)calls, bytes, bytes * (double)(calls - 1) / took);
    return 0;
}
#else
// Layouts and dtypes that the passes do not take: slow and right.
struct view {
    DLTensor t;
    int64_t shape[8], stride[8];
};
__global__ void relu_any(view x, view y, int64_t n) {
    x.t.shape = x.shape;
    x.t.strides = x.stride;
    y.t.shape = y.shape;
    y.t.strides = y.stride;
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double v = kg_get(&x.t, i);
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
    (void)inplace;  // then out is the input
    const int64_t n = kg_elements(input);
    if (n == 0) return 0;
    const bool plain = kg_contiguous(input) && kg_contiguous(out) && input->dtype.code == kDLFloat;
    if (plain && input->dtype.bits == 32) twice((const float *)input->data, (float *)out->data, n, stream);
    else if (plain && input->dtype.bits == 64) twice((const double *)input->data, (double *)out->data, n, stream);
    else relu_any<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(view_of(input), view_of(out), n);
    return (int)cudaGetLastError();
}
#endif
