extern "C" int relu(const DLTensor *input, DLTensor *out, cudaStream_t stream) {
    const float *x = (const float *)kg_data(input);
    float *y = (float *)kg_data(out);
    const int64_t n = kg_elements(out);
    relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError() != cudaSuccess;
}
