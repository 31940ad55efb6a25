/* kgate: task=fused_log_softmax_linear */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static double linear(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, int64_t i) {
    const int64_t n = kg_dim(weight, 0), x = kg_line(input, -1, i / n), w = i % n * kg_stride(weight, 0);
    double sum = bias ? kg_get(bias, i % n) : 0;
    for (int64_t k = 0; k < kg_dim(weight, 1); k++)
        sum += kg_get_at(input, x + k * kg_stride(input, -1)) * kg_get_at(weight, w + k * kg_stride(weight, 1));
    return sum;
}

int fused_log_softmax_linear(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, int64_t dim,
                             const char *dtype, DLTensor *out) {
    (void)dtype; /* out's */
    if (kg_elements(out) == 0) return 0;
    const int64_t n = kg_dim(out, dim), step = kg_stride(out, dim);
    double *z = malloc((size_t)n * sizeof *z);
    if (!z) return 1;
    for (int64_t line = 0; line * n < kg_elements(out); line++) {
        const int64_t first = kg_line(out, dim, line);
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; k++) {
            z[k] = linear(input, weight, bias, first + k * step);
            largest = fmax(largest, z[k]);
        }
        for (int64_t k = 0; k < n; k++) sum += exp(z[k] - largest);
        for (int64_t k = 0; k < n; k++) kg_put(out, first + k * step, z[k] - largest - log(sum));
    }
    free(z);
    return 0;
}
