// kgate: task=sum
//
// A whole contiguous float32 tensor is summed by one wave of blocks; the last block to finish adds their parts, so there
// is one launch and the same answer every time. Other reductions take a block an output.
#include <cuda_runtime.h>
#include <kgate/kernel.h>

#define MOST_BLOCKS 1056

__device__ float parts[MOST_BLOCKS];
__device__ unsigned finished;

template <typename A>
__device__ A block_sum(A x) {
    __shared__ A warps[32];
    for (int d = 16; d; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x >= 32) return 0;
    x = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : (A)0;
    for (int d = 16; d; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
    return x;
}

__global__ void whole(const float *in, int64_t n, float *out) {
    const float4 *v = (const float4 *)in;
    const int64_t vectors = n / 4, step = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    float x[4] = {0, 0, 0, 0};
    for (; i + 3 * step < vectors; i += 4 * step) {
        float4 a[4];
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = __ldcs(v + i + k * step);
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] += (a[k].x + a[k].y) + (a[k].z + a[k].w);
    }
    for (; i < vectors; i += step) x[0] += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    if (blockIdx.x == 0 && threadIdx.x < n % 4) x[1] += in[vectors * 4 + threadIdx.x];
    const float mine = block_sum((x[0] + x[1]) + (x[2] + x[3]));

    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float total = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) total += *(volatile float *)&parts[k];
    __syncthreads();
    total = block_sum(total);
    if (threadIdx.x == 0) *out = total, finished = 0;
}

// Kept dimensions (with the output's strides) and reduced ones.
struct Plan {
    int kept, reduced;
    int64_t outputs, terms, kept_size[8], kept_in[8], kept_out[8], size[8], in[8];
};

__global__ void by_output(DLTensor input, DLTensor out, Plan p) {
    const bool whole_numbers = out.dtype.code == kDLInt;
    for (int64_t o = blockIdx.x; o < p.outputs; o += gridDim.x) {
        int64_t rest = o, at = 0, to = 0;
        for (int d = p.kept - 1; d >= 0; d--) {
            at += rest % p.kept_size[d] * p.kept_in[d];
            to += rest % p.kept_size[d] * p.kept_out[d];
            rest /= p.kept_size[d];
        }
        double x = 0;
        long long k = 0;
        for (int64_t i = threadIdx.x; i < p.terms; i += blockDim.x) {
            int64_t left = i, from = at;
            for (int d = p.reduced - 1; d >= 0; d--) {
                from += left % p.size[d] * p.in[d];
                left /= p.size[d];
            }
            if (!whole_numbers) x += kg_get_at(&input, from);
            else if (input.dtype.code == kDLInt && input.dtype.bits == 64)
                k += ((const int64_t *)((const char *)input.data + input.byte_offset))[from];
            else k += (long long)kg_get_at(&input, from);
        }
        __syncthreads();
        x = block_sum(x);
        __syncthreads();
        k = block_sum(k);
        if (threadIdx.x != 0) continue;
        if (whole_numbers && out.dtype.bits == 64) ((int64_t *)((char *)out.data + out.byte_offset))[to] = k;
        else kg_put_at(&out, to, whole_numbers ? (double)k : x);
    }
}

static bool is_reduced(const kg_ints *dim, int d, int ndim) {
    if (!dim || dim->n == 0) return true;
    for (int64_t i = 0; i < dim->n; i++)
        if ((dim->v[i] < 0 ? dim->v[i] + ndim : dim->v[i]) == d) return true;
    return false;
}

static Plan plan_of(const DLTensor *input, const kg_ints *dim, bool keepdim, const DLTensor *out) {
    Plan p = {};
    int o = 0;
    p.outputs = p.terms = 1;
    for (int d = 0; d < input->ndim; d++) {
        if (is_reduced(dim, d, input->ndim)) {
            p.size[p.reduced] = input->shape[d];
            p.in[p.reduced++] = kg_stride(input, d);
            p.terms *= input->shape[d];
            o += keepdim;
        } else {
            p.kept_size[p.kept] = input->shape[d];
            p.kept_in[p.kept] = kg_stride(input, d);
            p.kept_out[p.kept++] = kg_stride(out, o++);
            p.outputs *= input->shape[d];
        }
    }
    return p;
}

extern "C" int sum(const DLTensor *input, const kg_ints *dim, bool keepdim, const char *dtype, DLTensor *out,
                   cudaStream_t stream) {
    (void)dtype;  // out has it
    const Plan p = plan_of(input, dim, keepdim, out);
    const DLDataType a = input->dtype, b = out->dtype;
    const char *data = (const char *)input->data + input->byte_offset;
    const bool f32 = a.code == kDLFloat && a.bits == 32 && b.code == kDLFloat && b.bits == 32;
    if (p.outputs == 0) return 0;
    if (f32 && p.outputs == 1 && p.terms > 0 && kg_contiguous(input) && (uintptr_t)data % 16 == 0) {
        const int64_t blocks = (p.terms + 4095) / 4096;
        whole<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), 256, 0, stream>>>(
            (const float *)data, p.terms, (float *)((char *)out->data + out->byte_offset));
    } else {
        const int threads = p.terms >= 256 ? 256 : 32;
        by_output<<<(unsigned)(p.outputs < 1 << 20 ? p.outputs : 1 << 20), threads, 0, stream>>>(*input, *out, p);
    }
    return cudaGetLastError() != cudaSuccess;
}
