#include <kgate/kernel.h>
#include <math.h>

int task(const DLTensor *input, DLTensor *out) {
    const float *x = kg_data(input);
    float *y = kg_data(out);
    int64_t n = kg_dim(input, -1), rows = kg_elements(input) / n;
    for (int64_t r = 0; r < rows; r++) {
        double total = 0;  // on purpose: long rows
        for (int64_t j = 0; j < n; j++) total += exp(x[r * n + j]);
        y[r] = (float)log(total);
    }
    return 0;
}
