__global__ void add_bias(const float *x, const float *bias, float *out, int width, int tiles) {
    int64_t row = blockIdx.x / tiles;
    int column = blockIdx.x % tiles * blockDim.x + threadIdx.x;
    if (column < width) out[row * width + column] = x[row * width + column] + bias[column];
}
