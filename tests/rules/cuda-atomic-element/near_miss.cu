__global__ void sum(const float *x, float *out, int64_t n) {
    __shared__ float parts[32];
    float part = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) part += x[i];
    block_sum(part, parts);
    if (threadIdx.x == 0) atomicAdd(out, parts[0]);
}
