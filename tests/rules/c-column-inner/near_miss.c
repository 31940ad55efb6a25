#include <kgate/kernel.h>
#include <math.h>

int task(const DLTensor *input, DLTensor *out) {
    const float *x = kg_data(input);
    float *y = kg_data(out);
    int64_t n = kg_dim(input, -1), rows = kg_elements(input) / n;
    for (int64_t k = 0; k < rows; k++)
        for (int64_t j = 0; j < n; j++) y[j] += x[k * n + j];
    float sum = 0;
    for (int64_t k = 0; k < rows; k++) sum += x[k * 4 + 1];
    y[0] += sum;
    return 0;
}
