__global__ void twice(const half2 *x, half2 *out, const half *tail, half *last, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n / 2) out[i] = __hmul2(x[i], __float2half2_rn(2.f));
    if (i == 0 && n % 2) *last = __float2half(2 * __half2float(tail[0]));
}
