// kgate: task=matmul
//
// The textbook product: 16 x 16 tiles in shared memory, one output a thread. Right for every shape that the task has, and
// an order of magnitude from what the device can do: no register tile, no matrix units.
#include <cuda_runtime.h>
#include <kgate/kernel.h>

#define TILE 16

// Both operands as batches of matrices: a vector is a row (input) or a column (other).
struct Product {
    int64_t m, n, k, batches;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    int ndim;
    int64_t size[8], a[8], b[8], c[8];
};

template <typename A>
__global__ void tiles(DLTensor input, DLTensor other, DLTensor out, Product p) {
    __shared__ A left[TILE][TILE + 1], right[TILE][TILE + 1];
    const int64_t row = (int64_t)blockIdx.y * TILE + threadIdx.y, col = (int64_t)blockIdx.x * TILE + threadIdx.x;
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z) {
        int64_t rest = batch, a = 0, b = 0, c = 0;
        for (int d = p.ndim - 1; d >= 0; d--) {
            const int64_t x = rest % p.size[d];
            rest /= p.size[d];
            a += x * p.a[d], b += x * p.b[d], c += x * p.c[d];
        }
        A sum = 0;
        for (int64_t k = 0; k < p.k; k += TILE) {
            const int64_t ka = k + threadIdx.x, kb = k + threadIdx.y;
            left[threadIdx.y][threadIdx.x] =
                row < p.m && ka < p.k ? (A)kg_get_at(&input, a + row * p.a_row + ka * p.a_col) : (A)0;
            right[threadIdx.y][threadIdx.x] =
                col < p.n && kb < p.k ? (A)kg_get_at(&other, b + kb * p.b_row + col * p.b_col) : (A)0;
            __syncthreads();
            const int most = p.k - k < TILE ? (int)(p.k - k) : TILE;  // no 0 * inf past the end
            for (int i = 0; i < most; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
            __syncthreads();
        }
        if (row < p.m && col < p.n) kg_put_at(&out, c + row * p.c_row + col * p.c_col, (double)sum);
    }
}

static int64_t batch_stride(const DLTensor *t, int from_end) {
    const int d = t->ndim - from_end;
    return d < 0 || t->shape[d] == 1 ? 0 : kg_stride(t, d);
}

static Product product_of(const DLTensor *a, const DLTensor *b, const DLTensor *out) {
    Product p = {};
    const bool row_vector = a->ndim == 1, column_vector = b->ndim == 1;
    int dims = out->ndim;
    p.k = kg_dim(a, -1);
    p.a_col = kg_stride(a, -1);
    p.b_row = kg_stride(b, column_vector ? -1 : -2);
    p.m = p.n = p.batches = 1;
    if (!column_vector) p.n = kg_dim(b, -1), p.b_col = kg_stride(b, -1), p.c_col = kg_stride(out, --dims);
    if (!row_vector) p.m = kg_dim(a, -2), p.a_row = kg_stride(a, -2), p.c_row = kg_stride(out, --dims);
    for (p.ndim = dims; dims > 0; dims--) {
        const int d = dims - 1, from_end = p.ndim - d + 2;  // batch dimensions stand before the matrix's two
        p.size[d] = out->shape[d];
        p.a[d] = row_vector ? 0 : batch_stride(a, from_end);
        p.b[d] = column_vector ? 0 : batch_stride(b, from_end);
        p.c[d] = kg_stride(out, d);
        p.batches *= p.size[d];
    }
    return p;
}

extern "C" int matmul(const DLTensor *input, const DLTensor *other, DLTensor *out, cudaStream_t stream) {
    const Product p = product_of(input, other, out);
    if (p.m == 0 || p.n == 0 || p.batches == 0) return 0;
    const dim3 threads(TILE, TILE), blocks((unsigned)((p.n + TILE - 1) / TILE), (unsigned)((p.m + TILE - 1) / TILE),
                                           (unsigned)(p.batches < 65535 ? p.batches : 65535));
    if (input->dtype.bits == 64) tiles<double><<<blocks, threads, 0, stream>>>(*input, *other, *out, p);
    else tiles<float><<<blocks, threads, 0, stream>>>(*input, *other, *out, p);
    return cudaGetLastError() != cudaSuccess;
}
