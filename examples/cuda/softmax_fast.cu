// kgate: task=softmax
//
// A row that fits is read once into registers: by a warp up to 1,024 elements, by a block up to 32,768. A longer row is
// read twice, the first time keeping a running maximum and sum (online softmax: Milakov and Gimelshein, 2018). Any
// dimension and strides; float32, float16 and bfloat16 take this path, with the special function unit's exponential, other
// dtypes and conversions a plain one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <kgate/kernel.h>
#include <math_constants.h>

// The lines along `dim`: n elements each, and where line i begins.
struct Lines {
    int64_t rows, n, in_step, out_step;
    int ndim;
    int64_t size[8], in[8], out[8];
};

__device__ __forceinline__ void line_start(const Lines &l, int64_t row, int64_t *in, int64_t *out) {
    *in = *out = 0;
    for (int d = l.ndim - 1; d >= 0; d--) {
        *in += row % l.size[d] * l.in[d];
        *out += row % l.size[d] * l.out[d];
        row /= l.size[d];
    }
}

template <typename T> __device__ __forceinline__ float value(T x) { return (float)x; }

// ---- a maximum and the sum of exponentials below it -----------------------------------------------
struct Part { float max, sum; };

__device__ __forceinline__ Part join(Part a, Part b) {
    const float m = fmaxf(a.max, b.max);
    if (m == -CUDART_INF_F) return {m, a.sum + b.sum};  // nothing yet, or NaNs
    return {m, a.sum * __expf(a.max - m) + b.sum * __expf(b.max - m)};
}
__device__ __forceinline__ Part join_warp(Part p) {
    for (int d = 16; d; d /= 2)
        p = join(p, {__shfl_xor_sync(0xffffffffu, p.max, d), __shfl_xor_sync(0xffffffffu, p.sum, d)});
    return p;
}
__device__ __forceinline__ Part join_block(Part p) {
    __shared__ Part parts[32];
    p = join_warp(p);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = p;
    __syncthreads();
    const int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    return join_warp(lane < warps ? parts[lane] : Part{-CUDART_INF_F, 0});
}
// Of V values in registers; those past the row are -inf. e^(x - max) of each is kept in their place.
template <int V>
__device__ __forceinline__ Part own_part(const float (&x)[V]) {
    Part p = {-CUDART_INF_F, 0};
#pragma unroll
    for (int k = 0; k < V; k++) p.max = fmaxf(p.max, x[k]);
#pragma unroll
    for (int k = 0; k < V; k++) p.sum += p.max == -CUDART_INF_F ? (x[k] != x[k] ? x[k] : 0.0f) : __expf(x[k] - p.max);
    return p;
}

// ---- kernels ----------------------------------------------------------------------------------------
template <typename T, int V>
__global__ void by_warp(const T *in, T *out, Lines l) {
    const int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= l.rows) return;
    int64_t a, b;
    float x[V];
    line_start(l, row, &a, &b);
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int64_t i = k * 32 + threadIdx.x % 32;
        x[k] = i < l.n ? value(in[a + i * l.in_step]) : -CUDART_INF_F;
    }
    const Part p = join_warp(own_part<V>(x));
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int64_t i = k * 32 + threadIdx.x % 32;
        if (i < l.n) out[b + i * l.out_step] = (T)(__expf(x[k] - p.max) / p.sum);
    }
}

template <typename T, int V>
__global__ void __launch_bounds__(1024) by_block(const T *in, T *out, Lines l) {
    int64_t a, b;
    float x[V];
    line_start(l, blockIdx.x, &a, &b);
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int64_t i = k * blockDim.x + threadIdx.x;
        x[k] = i < l.n ? value(in[a + i * l.in_step]) : -CUDART_INF_F;
    }
    const Part p = join_block(own_part<V>(x));
#pragma unroll
    for (int k = 0; k < V; k++) {
        const int64_t i = k * blockDim.x + threadIdx.x;
        if (i < l.n) out[b + i * l.out_step] = (T)(__expf(x[k] - p.max) / p.sum);
    }
}

template <typename T>
__global__ void __launch_bounds__(1024) twice(const T *in, T *out, Lines l) {
    const int V = 8;
    int64_t a, b;
    Part p = {-CUDART_INF_F, 0};
    line_start(l, blockIdx.x, &a, &b);
    for (int64_t at = threadIdx.x; at < l.n; at += V * blockDim.x) {
        float x[V];
#pragma unroll
        for (int k = 0; k < V; k++) {
            const int64_t i = at + k * blockDim.x;
            x[k] = i < l.n ? value(in[a + i * l.in_step]) : -CUDART_INF_F;
        }
        p = join(p, own_part<V>(x));
    }
    p = join_block(p);
    const float scale = 1.0f / p.sum;
    // Backwards: what was read last is in the cache.
    const int64_t step = (int64_t)V * blockDim.x;
    for (int64_t at = (l.n - 1) / step * step + threadIdx.x; at >= 0; at -= step) {
#pragma unroll
        for (int k = 0; k < V; k++) {
            const int64_t i = at + k * blockDim.x;
            if (i < l.n) out[b + i * l.out_step] = (T)(__expf(value(in[a + i * l.in_step]) - p.max) * scale);
        }
    }
}

// Any dtypes, in double, a thread a row. Values are first converted to the output's dtype, as the task says.
__device__ double converted(const DLTensor &input, int64_t at, const DLTensor &out) {
    uint64_t cell = 0;
    DLTensor t = out;
    t.data = &cell;
    t.byte_offset = 0;
    kg_put_at(&t, 0, kg_get_at(&input, at));
    return kg_get_at(&t, 0);
}
__global__ void plain(DLTensor input, DLTensor out, Lines l) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= l.rows) return;
    int64_t a, b;
    line_start(l, row, &a, &b);
    double m = -CUDART_INF, s = 0;
    for (int64_t i = 0; i < l.n; i++) m = fmax(m, converted(input, a + i * l.in_step, out));
    for (int64_t i = 0; i < l.n; i++) s += exp(converted(input, a + i * l.in_step, out) - m);
    for (int64_t i = 0; i < l.n; i++)
        kg_put_at(&out, b + i * l.out_step, exp(converted(input, a + i * l.in_step, out) - m) / s);
}

// ---- host -------------------------------------------------------------------------------------------
static Lines lines_of(const DLTensor *input, const DLTensor *out, int64_t dim) {
    Lines l = {};
    if (dim < 0) dim += input->ndim;
    l.n = kg_dim(input, dim);
    l.rows = l.n ? kg_elements(input) / l.n : 0;
    l.in_step = kg_stride(input, dim);
    l.out_step = kg_stride(out, dim);
    for (int d = 0; d < input->ndim; d++) {
        if (d == dim) continue;
        l.size[l.ndim] = input->shape[d];
        l.in[l.ndim] = kg_stride(input, d);
        l.out[l.ndim++] = kg_stride(out, d);
    }
    return l;
}

template <typename T>
static void run(const DLTensor *input, DLTensor *out, const Lines &l, cudaStream_t s) {
    const T *in = (const T *)((const char *)input->data + input->byte_offset);
    T *to = (T *)((char *)out->data + out->byte_offset);
    const unsigned rows = (unsigned)l.rows, warps = (unsigned)((l.rows + 3) / 4);
    if (l.n <= 32) by_warp<T, 1><<<warps, 128, 0, s>>>(in, to, l);
    else if (l.n <= 256) by_warp<T, 8><<<warps, 128, 0, s>>>(in, to, l);
    else if (l.n <= 1024) by_warp<T, 32><<<warps, 128, 0, s>>>(in, to, l);
    else if (l.n <= 8192) by_block<T, 8><<<rows, (unsigned)((l.n + 255) / 256 * 32), 0, s>>>(in, to, l);
    else if (l.n <= 32768) by_block<T, 32><<<rows, 1024, 0, s>>>(in, to, l);
    else twice<T><<<rows, 1024, 0, s>>>(in, to, l);
}

extern "C" int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out, cudaStream_t stream) {
    (void)dtype;  // out has it
    const Lines l = lines_of(input, out, dim);
    const DLDataType t = input->dtype;
    if (l.rows == 0) return 0;
    const bool same = t.code == out->dtype.code && t.bits == out->dtype.bits;
    if (same && t.code == kDLFloat && t.bits == 32) run<float>(input, out, l, stream);
    else if (same && t.code == kDLFloat && t.bits == 16) run<__half>(input, out, l, stream);
    else if (same && t.code == kDLBfloat) run<__nv_bfloat16>(input, out, l, stream);
    else plain<<<(unsigned)((l.rows + 63) / 64), 64, 0, stream>>>(*input, *out, l);
    return cudaGetLastError() != cudaSuccess;
}
