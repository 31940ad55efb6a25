__global__ void row_max(const float *x, float *out, int n) {
    const float *row = x + blockIdx.x * (size_t)n;
    __shared__ float most;
    if (threadIdx.x == 0) {
        most = row[0];
        for (int j = 1; j < n; j++) most = fmaxf(most, row[j]);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x) out[blockIdx.x * (size_t)n + j] = row[j] - most;
}
