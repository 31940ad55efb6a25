// kgate: task=gap22/matrix_transpose
//
// Two-byte elements of contiguous matrices with even sides move in pairs, in tiles of 64 x 64 that lie in shared memory
// with an odd pitch: 128 bytes are read and written at once, without bank conflicts. Others move one by one in tiles of
// 32 x 32.
#include <cuda_runtime.h>
#include <kgate/kernel.h>

// 32 x 8 threads.
__global__ void __launch_bounds__(256) pairs(const uint32_t *in, uint32_t *out, int64_t rows, int64_t columns) {
    __shared__ uint16_t tile[64][65];
    const int64_t i0 = (int64_t)blockIdx.y * 64, j0 = (int64_t)blockIdx.x * 64;
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    uint32_t v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int64_t i = i0 + y + 8 * k, j = j0 + 2 * x;
        if (i < rows && j < columns) v[k] = in[(i * columns + j) / 2];
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        tile[y + 8 * k][2 * x] = (uint16_t)v[k];
        tile[y + 8 * k][2 * x + 1] = (uint16_t)(v[k] >> 16);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int64_t j = j0 + y + 8 * k, i = i0 + 2 * x;
        const uint32_t pair = tile[2 * x][y + 8 * k] | (uint32_t)tile[2 * x + 1][y + 8 * k] << 16;
        if (i < rows && j < columns) out[(j * rows + i) / 2] = pair;
    }
}

template <typename T>
__global__ void __launch_bounds__(256)
    single(const T *in, T *out, int64_t rows, int64_t columns, int64_t row_step, int64_t column_step) {
    __shared__ T tile[32][33];
    // Tiles beyond the grid's second limit follow in turns.
    for (int64_t i0 = (int64_t)blockIdx.y * 32; i0 < rows; i0 += (int64_t)gridDim.y * 32) {
        const int64_t j0 = (int64_t)blockIdx.x * 32;
        __syncthreads();
        for (int k = (int)threadIdx.y; k < 32; k += 8) {
            const int64_t i = i0 + k, j = j0 + threadIdx.x;
            if (i < rows && j < columns) tile[k][threadIdx.x] = in[i * row_step + j * column_step];
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < 32; k += 8) {
            const int64_t j = j0 + k, i = i0 + threadIdx.x;
            if (i < rows && j < columns) out[j * rows + i] = tile[threadIdx.x][k];
        }
    }
}

template <typename T>
static void run(const DLTensor *input, DLTensor *out, cudaStream_t s) {
    const int64_t rows = input->shape[0], columns = input->shape[1], tiles = (rows + 31) / 32;
    const dim3 grid((unsigned)((columns + 31) / 32), (unsigned)(tiles < 65535 ? tiles : 65535));
    single<T><<<grid, dim3(32, 8), 0, s>>>((const T *)((const char *)input->data + input->byte_offset),
                                           (T *)((char *)out->data + out->byte_offset), rows, columns,
                                           kg_stride(input, 0), kg_stride(input, 1));
}

extern "C" int matrix_transpose(const DLTensor *input, DLTensor *out, cudaStream_t stream) {
    const int64_t rows = input->shape[0], columns = input->shape[1];
    const char *from = (const char *)input->data + input->byte_offset;
    char *to = (char *)out->data + out->byte_offset;
    if (rows == 0 || columns == 0) return 0;
    const bool paired = kg_contiguous(input) && rows % 2 == 0 && columns % 2 == 0 && (uintptr_t)from % 4 == 0 &&
                        (uintptr_t)to % 4 == 0 && rows <= 64 * 65535LL;
    switch (input->dtype.bits) {
    case 8: run<uint8_t>(input, out, stream); break;
    case 16:
        if (paired)
            pairs<<<dim3((unsigned)((columns + 63) / 64), (unsigned)((rows + 63) / 64)), dim3(32, 8), 0, stream>>>(
                (const uint32_t *)from, (uint32_t *)to, rows, columns);
        else run<uint16_t>(input, out, stream);
        break;
    case 32: run<uint32_t>(input, out, stream); break;
    case 64: run<uint64_t>(input, out, stream); break;
    default: return 1;
    }
    return cudaGetLastError() != cudaSuccess;
}
