__global__ void mean(const float *x, float *out, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const float *row = x + (size_t)i * n;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += row[j];
    out[i] = sum / n;
}
