__global__ void sum(const float *x, float *out, int n) {
    __shared__ float part[8];
    float v = x[blockIdx.x * 256 + threadIdx.x];
    for (int s = 16; s > 0; s >>= 1) v += __shfl_down_sync(0xffffffff, v, s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}
