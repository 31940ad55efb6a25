__global__ void add_bias(const float *x, const float *bias, float *out, int width, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + bias[i % width];
}
