__global__ void sum(const float *x, float *out, int n) {
    __shared__ float part[256];
    part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
