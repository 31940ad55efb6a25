/* kgate: task=gap22/linear_activation
 *
 * A row is normalised once and kept; every output is two products with it, one of them gating the other.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static double product(const double *row, const DLTensor *w, int64_t column) {
    double sum = 0;
    for (int64_t k = 0; k < kg_dim(w, 1); k++)
        sum += row[k] * kg_get_at(w, column * kg_stride(w, 0) + k * kg_stride(w, 1));
    return sum;
}

int linear_activation(const DLTensor *x, const DLTensor *w1, const DLTensor *w3, const DLTensor *rms_w, double eps,
                      DLTensor *out) {
    int64_t K = kg_dim(x, -1), N = kg_dim(out, -1), rows = N ? kg_elements(out) / N : 0;
    double *row = malloc((size_t)K * sizeof *row + 1);
    if (!row) return 1;
    for (int64_t i = 0; i < rows; i++) {
        double squares = 0;
        for (int64_t k = 0; k < K; k++) {
            row[k] = kg_get(x, i * K + k);
            squares += row[k] * row[k];
        }
        double scale = 1 / sqrt(squares / (double)K + eps);
        for (int64_t k = 0; k < K; k++) row[k] *= scale * kg_get(rms_w, k);
        for (int64_t j = 0; j < N; j++) {
            double gate = product(row, w1, j);
            kg_put(out, i * N + j, gate / (1 + exp(-gate)) * product(row, w3, j));
        }
    }
    free(row);
    return 0;
}
