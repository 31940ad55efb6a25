#include <kgate/kernel.h>
#include <math.h>

#define ACTIVATION(v) tanhf(v)

int task(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    const float *x = input->data;
    float *y = out->data;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) y[i] = ACTIVATION(x[i]);
    return 0;
}
