// kgate: task=relu
//
// ReLU on the bits: an element with its sign bit set becomes zero unless it is a NaN. So one kernel serves all dtypes of
// a size, sixteen bytes a load, eight loads in flight a thread.
#include <cuda_runtime.h>
#include <kgate/kernel.h>

struct Layout { int ndim; int64_t size[8], in[8], out[8]; };

// Bits without sign above `largest` are NaNs.
template <typename U>
__device__ __forceinline__ U relu_bits(U x, U sign, U largest) {
    return (x & sign) && (U)(x & (U)~sign) <= largest ? 0 : x;
}

template <typename U>
__global__ void dense(const uint4 *in, uint4 *out, int64_t vectors, U sign, U largest) {
    const int each = 16 / sizeof(U), tile = 8;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * tile + threadIdx.x;
    uint4 v[tile];
#pragma unroll
    for (int k = 0; k < tile; k++)
        if (first + k * blockDim.x < vectors) v[k] = __ldcs(in + first + k * blockDim.x);
#pragma unroll
    for (int k = 0; k < tile; k++) {
        if (first + k * blockDim.x >= vectors) break;
        U *p = (U *)&v[k];
#pragma unroll
        for (int e = 0; e < each; e++) p[e] = relu_bits(p[e], sign, largest);
        __stcs(out + first + k * blockDim.x, v[k]);
    }
}

template <typename U>
__global__ void any_layout(const U *in, U *out, int64_t from, int64_t n, Layout l, U sign, U largest) {
    for (int64_t i = from + (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t rest = i, a = 0, b = 0;
        for (int d = l.ndim - 1; d >= 0; d--) {
            a += rest % l.size[d] * l.in[d];
            b += rest % l.size[d] * l.out[d];
            rest /= l.size[d];
        }
        out[b] = relu_bits(in[a], sign, largest);
    }
}

template <typename U>
static void run(const DLTensor *input, DLTensor *out, U sign, U largest, cudaStream_t stream) {
    const U *in = (const U *)((const char *)input->data + input->byte_offset);
    U *to = (U *)((char *)out->data + out->byte_offset);
    const int64_t n = kg_elements(input);
    int64_t done = 0;
    if (kg_contiguous(input) && kg_contiguous(out) && (uintptr_t)in % 16 == 0 && (uintptr_t)to % 16 == 0) {
        const int64_t vectors = n * (int64_t)sizeof(U) / 16;
        if (vectors) {
            const int threads = vectors < 128 * 8 * 132 ? 32 : 256;  // small inputs: more blocks
            const unsigned blocks = (unsigned)((vectors + threads * 8 - 1) / (threads * 8));
            dense<U><<<blocks, threads, 0, stream>>>((const uint4 *)in, (uint4 *)to, vectors, sign, largest);
        }
        done = vectors * 16 / (int64_t)sizeof(U);
    }
    if (done == n) return;
    Layout l = {input->ndim, {}, {}, {}};
    for (int d = 0; d < l.ndim; d++) l.size[d] = input->shape[d], l.in[d] = kg_stride(input, d), l.out[d] = kg_stride(out, d);
    const int64_t blocks = (n - done + 255) / 256;
    any_layout<U><<<(unsigned)(blocks < 4096 ? blocks : 4096), 256, 0, stream>>>(in, to, done, n, l, sign, largest);
}

extern "C" int relu(const DLTensor *input, bool inplace, DLTensor *out, cudaStream_t stream) {
    (void)inplace;  // out is the input then
    const int code = input->dtype.code, bits = input->dtype.bits;
    const bool real = code == kDLFloat || code == kDLBfloat, is_signed = real || code == kDLInt;
    const uint64_t sign = is_signed ? 1ull << (bits - 1) : 0;
    uint64_t largest = sign - 1;  // integers have no NaN
    if (real) largest = bits == 64 ? 0x7ff0000000000000ull : bits == 32 ? 0x7f800000 : code == kDLFloat ? 0x7c00 : 0x7f80;
    if (bits == 64) run<uint64_t>(input, out, sign, largest, stream);
    else if (bits == 32) run<uint32_t>(input, out, (uint32_t)sign, (uint32_t)largest, stream);
    else if (bits == 16) run<uint16_t>(input, out, (uint16_t)sign, (uint16_t)largest, stream);
    else run<uint8_t>(input, out, (uint8_t)sign, (uint8_t)largest, stream);
    return cudaGetLastError() != cudaSuccess;
}
