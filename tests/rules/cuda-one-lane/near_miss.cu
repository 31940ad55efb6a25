__global__ void row_max(const float *x, float *out, int n) {
    const float *row = x + blockIdx.x * (size_t)n;
    __shared__ float part[32];
    float most = -INFINITY;
    for (int j = threadIdx.x; j < n; j += blockDim.x) most = fmaxf(most, row[j]);
    most = warp_max(most);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int j = 1; j < blockDim.x / 32; j++) part[0] = fmaxf(part[0], part[j]);
        out[blockIdx.x] = part[0];
    }
}
