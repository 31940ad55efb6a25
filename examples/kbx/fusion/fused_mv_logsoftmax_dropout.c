/* kgate: task=fused_mv_logsoftmax_dropout */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

int fused_mv_logsoftmax_dropout(const DLTensor *input, const DLTensor *vec, double p, bool training, bool inplace,
                                int64_t dim, int64_t seed, DLTensor *out) {
    (void)inplace;
    (void)dim;
    const int64_t n = kg_dim(input, 0), m = kg_dim(input, 1);
    double *z = malloc(sizeof *z * (size_t)(n + 1));
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = 0;
        for (int64_t k = 0; k < m; k++)
            z[i] += kg_get_at(input, i * kg_stride(input, 0) + k * kg_stride(input, 1)) * kg_get(vec, k);
        largest = fmax(largest, z[i]);
    }
    for (int64_t i = 0; i < n; i++) sum += exp(z[i] - largest);
    const double scale = training ? 1 / (1 - p) : 1;
    for (int64_t i = 0; i < n; i++) {
        const bool dropped = training && kg_uniform(seed, i) < p;
        kg_put(out, i, dropped ? 0 : (z[i] - largest - log(sum)) * scale);
    }
    free(z);
    return 0;
}
