extern "C" int relu(const DLTensor *input, DLTensor *out, cudaStream_t stream) {
    const float *x = (const float *)kg_data(input);
    float *y = (float *)kg_data(out);
    const int64_t n = kg_elements(out);
    sums<<<256, 256, 0, stream>>>(x, y, n);
    last_sum<<<1, 256, 0, stream>>>(y, 256);
    return cudaGetLastError() != cudaSuccess;
}
