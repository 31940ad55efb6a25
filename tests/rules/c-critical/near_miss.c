#include <kgate/kernel.h>
#include <math.h>

int task(const DLTensor *input, DLTensor *out) {
    const float *x = kg_data(input);
    float *y = kg_data(out);
    int64_t n = kg_dim(input, -1), rows = kg_elements(input) / n;
    float total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int64_t i = 0; i < rows * n; i++) { total += x[i]; }
    y[0] = total;
    return 0;
}
