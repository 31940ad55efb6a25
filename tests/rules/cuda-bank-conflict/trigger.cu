__global__ void transpose(const float *x, float *out, int64_t m, int64_t n) {
    __shared__ float tile[32][32];
    int64_t row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row < m && column < n) tile[threadIdx.y][threadIdx.x] = x[row * n + column];
    __syncthreads();
    row = blockIdx.x * 32 + threadIdx.y, column = blockIdx.y * 32 + threadIdx.x;
    if (row < n && column < m) out[row * m + column] = tile[threadIdx.x][threadIdx.y];
}
