// kgate: task=gap22/softmax
//
// A contiguous row of whole 16-byte packs is read once into registers, by a block of as many threads as it needs; other
// rows, other dimensions and conversions take a plain path in double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <kgate/kernel.h>
#include <math_constants.h>

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
__device__ __forceinline__ float block_max(float x, float *warps) {
    for (int d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : -CUDART_INF_F;
    for (int d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
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
__device__ double block_max_double(double x) {
    __shared__ double warps[32];
    for (int d = 16; d; d /= 2) x = fmax(x, __shfl_xor_sync(0xffffffffu, x, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : -CUDART_INF;
    for (int d = 16; d; d /= 2) x = fmax(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

template <typename T, int P>
__global__ void __launch_bounds__(512) by_row(const T *in, T *out, int packs) {
    constexpr int V = 16 / sizeof(T);
    __shared__ float warps[64];
    const int64_t start = (int64_t)blockIdx.x * packs;
    float x[P][V], most = -CUDART_INF_F, total = 0;
#pragma unroll
    for (int p = 0; p < P; p++) {
        const int at = p * blockDim.x + threadIdx.x;
        Pack<T> raw;
        if (at < packs) raw = ((const Pack<T> *)in)[start + at];
#pragma unroll
        for (int k = 0; k < V; k++) {
            x[p][k] = at < packs ? (float)raw.v[k] : -CUDART_INF_F;
            most = fmaxf(most, x[p][k]);
        }
    }
    most = block_max(most, warps);
#pragma unroll
    for (int p = 0; p < P; p++)
        if (p * blockDim.x + threadIdx.x < packs)
#pragma unroll
            for (int k = 0; k < V; k++) {
                x[p][k] = __expf(x[p][k] - most);  // NaN where the row holds NaN or infinity, or only -infinity
                total += x[p][k];
            }
    const float scale = 1.0f / block_sum(total, warps + 32);
#pragma unroll
    for (int p = 0; p < P; p++) {
        const int at = p * blockDim.x + threadIdx.x;
        Pack<T> y;
#pragma unroll
        for (int k = 0; k < V; k++) y.v[k] = (T)(x[p][k] * scale);
        if (at < packs) ((Pack<T> *)out)[start + at] = y;
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

// Any dtypes and strides. Values are first converted to the output's dtype, as the task says.
__device__ double converted(const DLTensor &input, int64_t at, const DLTensor &out) {
    uint64_t cell = 0;
    DLTensor t = out;
    t.data = &cell;
    t.byte_offset = 0;
    kg_put_at(&t, 0, kg_get_at(&input, at));
    return kg_get_at(&t, 0);
}
__global__ void plain(Passed input_at, Passed out_at, int64_t dim) {
    const DLTensor &input = *input_at.get();
    DLTensor &out = *out_at.get();
    const int64_t n = kg_dim(&input, dim), step = kg_stride(&input, dim), to_step = kg_stride(&out, dim);
    const int64_t from = kg_line(&input, dim, blockIdx.x), to = kg_line(&out, dim, blockIdx.x);
    double most = -CUDART_INF, total = 0;
    for (int64_t k = threadIdx.x; k < n; k += blockDim.x) most = fmax(most, converted(input, from + k * step, out));
    most = block_max_double(most);
    for (int64_t k = threadIdx.x; k < n; k += blockDim.x) total += exp(converted(input, from + k * step, out) - most);
    total = block_sum_double(total);
    for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
        kg_put_at(&out, to + k * to_step, exp(converted(input, from + k * step, out) - most) / total);
}

template <typename T>
static const T *data_of(const DLTensor *t) {
    return (const T *)((const char *)t->data + t->byte_offset);
}
static bool aligned(const DLTensor *t) { return (uintptr_t)data_of<char>(t) % 16 == 0 && kg_contiguous(t); }

template <typename T>
static void run(const DLTensor *input, DLTensor *out, int64_t rows, int64_t n, cudaStream_t s) {
    const int packs = (int)(n * (int64_t)sizeof(T) / 16);
    const T *x = data_of<T>(input);
    T *to = (T *)data_of<T>(out);
    const int each = packs <= 256 ? 1 : packs <= 1024 ? 2 : packs <= 2048 ? 4 : 8;
    const unsigned threads = (unsigned)((packs + each - 1) / each + 31) / 32 * 32, grid = (unsigned)rows;
    if (each == 1) by_row<T, 1><<<grid, threads, 0, s>>>(x, to, packs);
    else if (each == 2) by_row<T, 2><<<grid, threads, 0, s>>>(x, to, packs);
    else if (each == 4) by_row<T, 4><<<grid, threads, 0, s>>>(x, to, packs);
    else by_row<T, 8><<<grid, threads, 0, s>>>(x, to, packs);
}

extern "C" int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out, cudaStream_t stream) {
    (void)dtype;  // out has it
    const int64_t n = kg_dim(input, dim), rows = n ? kg_elements(input) / n : 0;
    const DLDataType t = input->dtype;
    if (rows == 0) return 0;
    const int64_t bytes = n * t.bits / 8;
    const bool last = input->ndim == 0 || dim == -1 || dim == input->ndim - 1;
    const unsigned threads = n > 1024 ? 256 : 64;  // of the plain path
    const bool packed = last && bytes % 16 == 0 && bytes <= 65536 && aligned(input) && aligned(out) &&
                        t.code == out->dtype.code && t.bits == out->dtype.bits;
    if (packed && t.code == kDLFloat && t.bits == 32) run<float>(input, out, rows, n, stream);
    else if (packed && t.code == kDLFloat && t.bits == 16) run<__half>(input, out, rows, n, stream);
    else if (packed && t.code == kDLBfloat) run<__nv_bfloat16>(input, out, rows, n, stream);
    else plain<<<(unsigned)rows, threads, 0, stream>>>(Passed(input), Passed(out), dim);
    return cudaGetLastError() != cudaSuccess;
}
