__global__ void matmul(const half *a, const half *b, half *c, int64_t m, int64_t n, int64_t k) {
    int64_t row = blockIdx.y * (int64_t)blockDim.y + threadIdx.y, col = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int64_t i = 0; i < k; i++) sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
    c[row * n + col] = __float2half(sum);
}
