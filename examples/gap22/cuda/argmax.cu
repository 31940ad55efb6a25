// kgate: task=gap22/argmax
//
// A block a row: every thread keeps the best value and place of its own 16-byte packs, four of them in flight, and the
// block joins them at the end. Other dtypes and strides take a warp a row.
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

// NaN is largest, and the first of equals counts.
template <typename A>
struct Best {
    A value;
    int64_t at;
};
template <typename A>
__device__ __forceinline__ bool beats(A a, A b) {
    return a > b || (a != a && b == b);
}
template <typename A>
__device__ __forceinline__ Best<A> join(Best<A> a, Best<A> b) {
    const bool equal = a.value == b.value || (a.value != a.value && b.value != b.value);
    return equal ? (a.at < b.at ? a : b) : beats(b.value, a.value) ? b : a;
}
template <typename A>
__device__ __forceinline__ Best<A> join_warp(Best<A> b) {
    for (int d = 16; d; d /= 2)
        b = join(b,
                 {__shfl_xor_sync(0xffffffffu, b.value, d), (int64_t)__shfl_xor_sync(0xffffffffu, (long long)b.at, d)});
    return b;
}

template <typename T>
__global__ void __launch_bounds__(256) by_row(const T *in, int64_t *out, int packs) {
    constexpr int V = 16 / sizeof(T);
    __shared__ Best<float> warps[8];
    const Pack<T> *row = (const Pack<T> *)in + (int64_t)blockIdx.x * packs;
    float value = -CUDART_INF_F;
    int where = 0x7fffffff;  // no place of its own yet: an equal value elsewhere counts
    for (int first = threadIdx.x; first < packs; first += 4 * blockDim.x) {
        Pack<T> raw[4];
#pragma unroll
        for (int p = 0; p < 4; p++)
            if (first + p * blockDim.x < packs) raw[p] = row[first + p * blockDim.x];
#pragma unroll
        for (int p = 0; p < 4; p++) {
            const int at = first + p * blockDim.x;
            if (at >= packs) break;
#pragma unroll
            for (int k = 0; k < V; k++) {
                const float x = (float)raw[p].v[k];
                if (!beats(x, value) && where != 0x7fffffff) continue;
                value = x;
                where = at * V + k;
            }
        }
    }
    Best<float> b = join_warp(Best<float>{value, where});
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = b;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    b = join_warp(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : Best<float>{-CUDART_INF_F, 0x7fffffff});
    if (threadIdx.x == 0) out[blockIdx.x] = b.at;
}

// A number of T as one that compares.
__device__ __forceinline__ float comparable(__half x) { return (float)x; }
__device__ __forceinline__ float comparable(__nv_bfloat16 x) { return (float)x; }
template <typename T>
__device__ __forceinline__ T comparable(T x) {
    return x;
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

// Lines along `dim`, or the flattened tensor; any strides.
template <typename T, typename A>
__global__ void plain(Passed input_at, int64_t *out, int64_t rows, int64_t n, int64_t dim, bool flat) {
    const int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    const DLTensor &input = *input_at.get();
    const T *x = (const T *)((const char *)input.data + input.byte_offset);
    const int64_t from = flat ? 0 : kg_line(&input, dim, row), step = flat ? 0 : kg_stride(&input, dim);
    Best<A> b = {comparable(x[from]), 0};
    for (int64_t k = threadIdx.x % 32; k < n; k += 32) {
        const A value = comparable(x[flat ? kg_element(&input, k) : from + k * step]);
        if (beats(value, b.value)) b = {value, k};
    }
    b = join_warp(b);
    if (threadIdx.x % 32 == 0) out[row] = b.at;
}

template <typename T>
static const T *data_of(const DLTensor *t) {
    return (const T *)((const char *)t->data + t->byte_offset);
}
static bool aligned(const DLTensor *t) { return (uintptr_t)data_of<char>(t) % 16 == 0 && kg_contiguous(t); }

template <typename T, typename A>
static void run_plain(const DLTensor *input, int64_t *to, int64_t rows, int64_t n, const int64_t *dim, cudaStream_t s) {
    plain<T, A><<<(unsigned)((rows + 3) / 4), 128, 0, s>>>(Passed(input), to, rows, n, dim ? *dim : 0, !dim);
}
template <typename T>
static void run(const DLTensor *input, int64_t *to, int64_t rows, int64_t n, const int64_t *dim, cudaStream_t s) {
    const bool last = !dim || *dim == -1 || *dim == input->ndim - 1;
    if (last && aligned(input) && n * (int64_t)sizeof(T) % 16 == 0 && n < 0x7fffffff)
        by_row<T><<<(unsigned)rows, 256, 0, s>>>(data_of<T>(input), to, (int)(n * (int64_t)sizeof(T) / 16));
    else run_plain<T, float>(input, to, rows, n, dim, s);
}

extern "C" int argmax(const DLTensor *input, const int64_t *dim, bool keepdim, DLTensor *out, cudaStream_t stream) {
    (void)keepdim;  // out is contiguous either way
    const int64_t n = dim ? kg_dim(input, *dim) : kg_elements(input), rows = kg_elements(out);
    int64_t *to = (int64_t *)data_of<int64_t>(out);
    const DLDataType t = input->dtype;
    if (rows == 0 || n == 0) return 0;
    if (t.code == kDLBfloat) run<__nv_bfloat16>(input, to, rows, n, dim, stream);
    else if (t.code == kDLFloat && t.bits == 16) run<__half>(input, to, rows, n, dim, stream);
    else if (t.code == kDLFloat && t.bits == 32) run<float>(input, to, rows, n, dim, stream);
    else if (t.code == kDLFloat) run_plain<double, double>(input, to, rows, n, dim, stream);
    else if (t.bits == 64) run_plain<long long, long long>(input, to, rows, n, dim, stream);
    else if (t.bits == 32) run_plain<int32_t, int32_t>(input, to, rows, n, dim, stream);
    else if (t.bits == 8 && t.code == kDLUInt) run_plain<uint8_t, int32_t>(input, to, rows, n, dim, stream);
    else return 1;
    return cudaGetLastError() != cudaSuccess;
}
