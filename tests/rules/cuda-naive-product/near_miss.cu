__global__ void matmul(const half *a, const half *b, half *c, int64_t m, int64_t n, int64_t k) {
    __shared__ half left[16][16], right[16][17];
    int64_t row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int64_t t = 0; t < k; t += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += __half2float(left[threadIdx.y][i]) * __half2float(right[i][threadIdx.x]);
        __syncthreads();
    }
    c[row * n + col] = __float2half(sum);
}
