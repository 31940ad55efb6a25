/* kgate: task=fused_transformer_block */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

int fused_transformer_block(const DLTensor *input, const DLTensor *weight1, const DLTensor *weight2,
                            const DLTensor *residual, double dropout_p, double eps, int64_t seed, DLTensor *out) {
    const int64_t d_in = kg_dim(weight1, 0), terms = kg_dim(weight1, 1), columns = kg_dim(weight2, 1);
    const int64_t rows = kg_elements(out) / (columns > 0 ? columns : 1);
    double *z = malloc(sizeof *z * (size_t)(terms + columns + 1)), *w = z + terms;
    for (int64_t row = 0; row < rows; row++) {
        double largest = -INFINITY, sum = 0, mean = 0, variance = 0;
        for (int64_t k = 0; k < terms; k++) {
            z[k] = 0;
            for (int64_t d = 0; d < d_in; d++)
                z[k] += kg_get(input, row * d_in + d) *
                        kg_get_at(weight1, d * kg_stride(weight1, 0) + k * kg_stride(weight1, 1));
            largest = fmax(largest, z[k]);
        }
        for (int64_t k = 0; k < terms; k++) sum += z[k] = exp(z[k] - largest);
        for (int64_t k = 0; k < terms; k++) {
            const bool dropped = kg_uniform(seed, row * terms + k) < dropout_p;
            z[k] = dropped ? 0 : z[k] / sum / (1 - dropout_p);
        }
        for (int64_t c = 0; c < columns; c++) {
            w[c] = kg_get_broadcast(residual, out, row * columns + c);
            for (int64_t k = 0; k < terms; k++)
                w[c] += z[k] * kg_get_at(weight2, k * kg_stride(weight2, 0) + c * kg_stride(weight2, 1));
            mean += w[c] / (double)columns;
        }
        for (int64_t c = 0; c < columns; c++) variance += (w[c] - mean) * (w[c] - mean) / (double)columns;
        for (int64_t c = 0; c < columns; c++) kg_put(out, row * columns + c, (w[c] - mean) / sqrt(variance + eps));
    }
    free(z);
    return 0;
}
