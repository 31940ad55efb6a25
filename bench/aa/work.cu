// relu_work of stated.cu with a host function, for truth.cu to call: how much longer do EXTRA rounds take?
#include <cuda_runtime.h>
#include <kgate/kernel.h>

#include "stated.cu"

#define EXTRA  0
#define ROUNDS (1000 + EXTRA)

extern "C" int relu(const DLTensor *input, bool inplace, DLTensor *out, cudaStream_t stream) {
    (void)inplace;  // then out is the input
    const int64_t n = kg_elements(input);
    relu_work<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>((const float *)input->data, (float *)out->data, n,
                                                               ROUNDS);
    return cudaGetLastError() != cudaSuccess;
}
