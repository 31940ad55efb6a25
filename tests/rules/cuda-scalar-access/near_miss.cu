__global__ void relu(const float4 *x, float4 *out, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_float4(fmaxf(x[i].x, 0), fmaxf(x[i].y, 0), fmaxf(x[i].z, 0), fmaxf(x[i].w, 0));
}
