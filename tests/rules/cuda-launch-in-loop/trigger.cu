extern "C" int relu(const DLTensor *input, DLTensor *out, cudaStream_t stream) {
    const float *x = (const float *)kg_data(input);
    float *y = (float *)kg_data(out);
    const int64_t n = kg_elements(out);
    const int64_t rows = kg_dim(out, 0), m = n / rows;
    for (int64_t r = 0; r < rows; r++) relu_kernel<<<(m + 255) / 256, 256, 0, stream>>>(x + r * m, y + r * m, m);
    return cudaGetLastError() != cudaSuccess;
}
