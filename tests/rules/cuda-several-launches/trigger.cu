extern "C" int relu(const DLTensor *input, DLTensor *out, cudaStream_t stream) {
    const float *x = (const float *)kg_data(input);
    float *y = (float *)kg_data(out);
    const int64_t n = kg_elements(out);
    negative<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    exponential<<<(n + 255) / 256, 256, 0, stream>>>(y, y, n);
    reciprocal<<<(n + 255) / 256, 256, 0, stream>>>(y, y, n);
    return cudaGetLastError() != cudaSuccess;
}
