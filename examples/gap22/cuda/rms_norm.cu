// kgate: task=gap22/rms_norm
//
// RMS norm. A contiguous row of whole 16-byte packs is read once into registers, by a block of as many
// threads as it needs; other rows, and float64, take a plain path in double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <kgate/kernel.h>

// 16 bytes of a row.
template <typename T>
struct alignas(16) Pack {
    T v[16 / sizeof(T)];
};

// The sum over the block, in every thread. `warps` is used again only after the next barrier.
__device__ __forceinline__ float block_sum(float x, float *warps) {
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0;
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

__device__ double block_sum_double(double x) {
    __shared__ double warps[32];
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0;
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

template <typename T, int P>
__global__ void __launch_bounds__(512) by_row(const T *in, const T *weight, T *out, int packs, float eps) {
    constexpr int V = 16 / sizeof(T);
    __shared__ float warps[32];
    const int64_t start = (int64_t)blockIdx.x * packs;
    const float n = (float)packs * V;
    float x[P][V], total = 0;
#pragma unroll
    for (int p = 0; p < P; p++) {
        const int at = p * blockDim.x + threadIdx.x;
        Pack<T> raw = {};
        if (at < packs) raw = ((const Pack<T> *)in)[start + at];
#pragma unroll
        for (int k = 0; k < V; k++) {
            x[p][k] = (float)raw.v[k];
            total += x[p][k] * x[p][k];
        }
    }
    const float scale = 1.0f / sqrtf(block_sum(total, warps) / n + eps);
#pragma unroll
    for (int p = 0; p < P; p++) {
        const int at = p * blockDim.x + threadIdx.x;
        if (at >= packs) continue;
        Pack<T> w = {}, y;
        if (weight) w = ((const Pack<T> *)weight)[at];
#pragma unroll
        for (int k = 0; k < V; k++) y.v[k] = (T)(x[p][k] * scale * (weight ? (float)w.v[k] : 1.0f));
        ((Pack<T> *)out)[start + at] = y;
    }
}

// A tensor as a kernel can take it: a DLTensor's shape and strides lie in the host's memory.
struct Passed {
    DLTensor t;
    int64_t shape[8], strides[8];
    explicit Passed(const DLTensor *from) : t(*from) {
        for (int d = 0; d < t.ndim; d++) shape[d] = from->shape[d], strides[d] = kg_stride(from, d);
    }
    __device__ DLTensor *get() {
        t.shape = shape;
        t.strides = strides;
        return &t;
    }
};

// Any dtype and strides.
__global__ void plain(Passed input_at, Passed weight_at, bool weighted, Passed out_at, int64_t n, double eps) {
    const DLTensor &input = *input_at.get(), &weight = *weight_at.get();
    DLTensor &out = *out_at.get();
    const int64_t first = blockIdx.x * n;
    double total = 0;
    for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
        total += kg_get(&input, first + k) * kg_get(&input, first + k);
    const double scale = 1.0 / sqrt(block_sum_double(total) / (double)n + eps);
    for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
        kg_put(&out, first + k, kg_get(&input, first + k) * scale * (weighted ? kg_get(&weight, k) : 1.0));
}

template <typename T>
static const T *data_of(const DLTensor *t) {
    return (const T *)((const char *)t->data + t->byte_offset);
}
static bool aligned(const DLTensor *t) { return (uintptr_t)data_of<char>(t) % 16 == 0 && kg_contiguous(t); }

template <typename T>
static void run(const DLTensor *input, const DLTensor *weight, DLTensor *out, int64_t rows, int64_t n, double eps,
                cudaStream_t s) {
    const int packs = (int)(n * (int64_t)sizeof(T) / 16);
    const T *x = data_of<T>(input), *w = weight ? data_of<T>(weight) : nullptr;
    T *to = (T *)data_of<T>(out);
    const int each = packs <= 256 ? 1 : packs <= 1024 ? 2 : packs <= 2048 ? 4 : 8;
    const unsigned threads = (unsigned)((packs + each - 1) / each + 31) / 32 * 32, grid = (unsigned)rows;
    if (each == 1) by_row<T, 1><<<grid, threads, 0, s>>>(x, w, to, packs, (float)eps);
    else if (each == 2) by_row<T, 2><<<grid, threads, 0, s>>>(x, w, to, packs, (float)eps);
    else if (each == 4) by_row<T, 4><<<grid, threads, 0, s>>>(x, w, to, packs, (float)eps);
    else by_row<T, 8><<<grid, threads, 0, s>>>(x, w, to, packs, (float)eps);
}

extern "C" int rms_norm(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight,
                        const double *eps_given, DLTensor *out, cudaStream_t stream) {
    int64_t n = 1;
    for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];
    const int64_t rows = n ? kg_elements(input) / n : 0, bytes = n * input->dtype.bits / 8;
    if (rows == 0) return 0;
    const DLDataType t = input->dtype;
    // None: the distance from 1 to the next number of the dtype.
    const double spacing = t.bits == 64 ? 0x1p-52 : t.bits == 32 ? 0x1p-23 : t.code == kDLBfloat ? 0x1p-7 : 0x1p-10;
    const double eps = eps_given ? *eps_given : spacing;
    const bool packed =
        bytes % 16 == 0 && bytes <= 65536 && aligned(input) && aligned(out) && (!weight || aligned(weight));
    if (packed && t.code == kDLFloat && t.bits == 32) run<float>(input, weight, out, rows, n, eps, stream);
    else if (packed && t.code == kDLFloat && t.bits == 16) run<__half>(input, weight, out, rows, n, eps, stream);
    else if (packed && t.code == kDLBfloat) run<__nv_bfloat16>(input, weight, out, rows, n, eps, stream);
    else plain<<<(unsigned)rows, 128, 0, stream>>>(Passed(input), Passed(weight ? weight : input), weight != nullptr, Passed(out), n, eps);
    return cudaGetLastError() != cudaSuccess;
}
