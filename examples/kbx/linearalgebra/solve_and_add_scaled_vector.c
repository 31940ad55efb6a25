/* kgate: task=solve_and_add_scaled_vector */
#include <kgate/kernel.h>
#include <stdlib.h>

int solve_and_add_scaled_vector(const DLTensor *A, const DLTensor *b, const DLTensor *y, double alpha, DLTensor *out) {
    const int64_t n = kg_dim(A, 0), k = b->ndim == 1 ? 1 : kg_dim(b, 1);
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t j = 0; j < k; j++) {
        for (int64_t r = n - 1; r >= 0; r--) {
            x[r] = kg_get(b, r * k + j);
            for (int64_t c = r + 1; c < n; c++) x[r] -= kg_get(A, r * n + c) * x[c];
            x[r] /= kg_get(A, r * n + r);
        }
        for (int64_t r = 0; r < n; r++)
            kg_put(out, r * k + j, x[r] + alpha * kg_get_at(y, kg_broadcast_element(y, out, r * k + j)));
    }
    free(x);
    return 0;
}
