extern "C" int relu(const DLTensor *input, DLTensor *out, cudaStream_t stream) {
    const float *x = (const float *)kg_data(input);
    float *y = (float *)kg_data(out);
    const int64_t n = kg_elements(out);
    if (out->dtype.bits == 16) sigmoid<half><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    else if (n % 4 == 0) sigmoid<float4><<<(n + 1023) / 1024, 256, 0, stream>>>(x, y, n / 4);
    else sigmoid<float><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError() != cudaSuccess;
}
