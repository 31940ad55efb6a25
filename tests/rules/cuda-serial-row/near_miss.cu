// Columns: neighbours in a warp read neighbours in memory.
__global__ void column_mean(const float *x, float *out, int64_t rows, int64_t n) {
    int64_t column = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (column >= n) return;
    float sum = 0;
    for (int64_t j = 0; j < rows; j++) sum += x[j * n + column];
    out[column] = sum / rows;
}

__global__ void row_mean(const float *x, float *out, int64_t n) {
    int64_t row = blockIdx.x;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) sum += x[row * n + j];
    atomicAdd(&out[row], sum / n);
}
