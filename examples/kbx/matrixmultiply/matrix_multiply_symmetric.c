/* kgate: task=matrix_multiply_symmetric
 *
 * D is kept in memory of its own, in double; its product with its transpose reads rows only.
 */
#include <kgate/kernel.h>
#include <stdlib.h>

int matrix_multiply_symmetric(const DLTensor *A, const DLTensor *B, const DLTensor *C, double alpha, double beta,
                              DLTensor *out) {
    int64_t n = kg_dim(out, 0), m = kg_dim(A, 1);
    double *D = malloc((size_t)(n * n) * sizeof *D + 1);
    if (!D) return 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < m; k++)
                sum += kg_get_at(A, i * kg_stride(A, 0) + k * kg_stride(A, 1)) *
                       kg_get_at(B, k * kg_stride(B, 0) + j * kg_stride(B, 1));
            D[i * n + j] = alpha * sum + beta * kg_get_at(C, i * kg_stride(C, 0) + j * kg_stride(C, 1));
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += D[i * n + k] * D[j * n + k];
            kg_put(out, i * n + j, alpha * sum + beta * D[i * n + j]);
        }
    free(D);
    return 0;
}
