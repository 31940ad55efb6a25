// kgate: task=gap22/logsumexp
//
// Reduced last dimensions that lie in whole 16-byte packs are read once into registers, by a block of as many threads
// as they need; everything else takes a plain path in double.
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
    const float base = isinf(most) ? 0 : most;  // an infinite maximum is the answer as it is
#pragma unroll
    for (int p = 0; p < P; p++)
#pragma unroll
        for (int k = 0; k < V; k++) total += __expf(x[p][k] - base);
    total = block_sum(total, warps + 32);
    if (threadIdx.x == 0) out[blockIdx.x] = (T)(base + logf(total));
}

// Kept dimensions, with the output's strides, and reduced ones.
struct Plan {
    int kept, reduced;
    int64_t outputs, terms, kept_size[8], kept_in[8], kept_out[8], size[8], in[8];
};
__device__ __forceinline__ double term(const DLTensor &input, const Plan &p, int64_t at, int64_t k) {
    for (int d = p.reduced - 1; d >= 0; d--) {
        at += k % p.size[d] * p.in[d];
        k /= p.size[d];
    }
    return kg_get_at(&input, at);
}
__global__ void plain(DLTensor input, DLTensor out, Plan p) {
    int64_t rest = blockIdx.x, from = 0, to = 0;
    for (int d = p.kept - 1; d >= 0; d--) {
        from += rest % p.kept_size[d] * p.kept_in[d];
        to += rest % p.kept_size[d] * p.kept_out[d];
        rest /= p.kept_size[d];
    }
    double most = -CUDART_INF, total = 0;
    for (int64_t k = threadIdx.x; k < p.terms; k += blockDim.x) most = fmax(most, term(input, p, from, k));
    most = block_max_double(most);
    const double base = isinf(most) ? 0 : most;
    for (int64_t k = threadIdx.x; k < p.terms; k += blockDim.x) total += exp(term(input, p, from, k) - base);
    total = block_sum_double(total);
    if (threadIdx.x == 0) kg_put_at(&out, to, base + log(total));
}

static bool is_reduced(const kg_ints *dim, int d, int ndim) {
    for (int64_t i = 0; i < dim->n; i++)
        if (ndim == 0 || (dim->v[i] < 0 ? dim->v[i] + ndim : dim->v[i]) == d) return true;
    return false;
}
// *last: the reduced dimensions are the last ones.
static Plan plan_of(const DLTensor *input, const kg_ints *dim, bool keepdim, const DLTensor *out, bool *last) {
    Plan p = {};
    int o = 0;
    p.outputs = p.terms = 1;
    *last = true;
    for (int d = 0; d < input->ndim; d++) {
        if (is_reduced(dim, d, input->ndim)) {
            p.size[p.reduced] = input->shape[d];
            p.in[p.reduced++] = kg_stride(input, d);
            p.terms *= input->shape[d];
            o += keepdim;
        } else {
            if (p.reduced) *last = false;
            p.kept_size[p.kept] = input->shape[d];
            p.kept_in[p.kept] = kg_stride(input, d);
            p.kept_out[p.kept++] = kg_stride(out, o++);
            p.outputs *= input->shape[d];
        }
    }
    return p;
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

extern "C" int logsumexp(const DLTensor *input, const kg_ints *dim, bool keepdim, DLTensor *out, cudaStream_t stream) {
    bool last;
    const Plan p = plan_of(input, dim, keepdim, out, &last);
    const DLDataType t = input->dtype;
    const int64_t bytes = p.terms * t.bits / 8;
    if (p.outputs == 0) return 0;
    const unsigned threads = p.terms > 1024 ? 256 : 64;  // of the plain path
    const bool packed = last && bytes && bytes % 16 == 0 && bytes <= 65536 && aligned(input) && kg_contiguous(out);
    if (packed && t.code == kDLFloat && t.bits == 32) run<float>(input, out, p.outputs, p.terms, stream);
    else if (packed && t.code == kDLFloat && t.bits == 16) run<__half>(input, out, p.outputs, p.terms, stream);
    else if (packed && t.code == kDLBfloat) run<__nv_bfloat16>(input, out, p.outputs, p.terms, stream);
    else plain<<<(unsigned)p.outputs, threads, 0, stream>>>(*input, *out, p);
    return cudaGetLastError() != cudaSuccess;
}
