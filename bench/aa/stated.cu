// Kernels of bench/aa: task relu, float32, contiguous. aa.py makes PTX of them, with a comment that says how each is
// launched, so that a comparison costs no compiler's time; work.cu calls relu_work from a host function.
#include <stdint.h>

__device__ __forceinline__ float relu_of(float a) { return a > 0 || a != a ? a : 0; }

extern "C" __global__ void relu_plain(const float *x, float *y, int64_t n) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = relu_of(x[i]);
}

// From `first` up to `n`: launched twice, a call of two kernels.
extern "C" __global__ void relu_part(const float *x, float *y, int64_t first, int64_t n) {
    const int64_t i = first + blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = relu_of(x[i]);
}

// Beside so much arithmetic that the time follows the number of rounds: with more of them it is slower by a known
// share. The sum of a series, which no answer depends on: it is bounded by 2 and what was put in, so it is never beyond
// 1e30 unless x is: then the answer is infinite, as x. The rounds are an argument, so that every variant is the same
// code.
extern "C" __global__ void relu_work(const float *x, float *y, int64_t n, int rounds) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i];
    float v = a;
    int r = 0;
#pragma unroll 1
    for (; r + 10 <= rounds; r += 10) {
#pragma unroll
        for (int k = 0; k < 10; k++) v = fmaf(v, 0.5f, 1.0f);
    }
#pragma unroll 1
    for (; r < rounds; r++) v = fmaf(v, 0.5f, 1.0f);
    y[i] = v > 1e30f ? v : relu_of(a);
}
