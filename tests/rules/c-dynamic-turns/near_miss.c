#include <kgate/kernel.h>

int task(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    const float *x = input->data;
    float *y = out->data;
#pragma omp parallel for schedule(dynamic, 4096)
    for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
    return 0;
}
