/* kgate: task=tril_mm_and_scale
 *
 * Row i of the lower triangle ends at the diagonal, so its product does too.
 */
#include <kgate/kernel.h>

int tril_mm_and_scale(const DLTensor *A, const DLTensor *B, double alpha, double beta, DLTensor *out) {
    int64_t n = kg_dim(A, 0), p = kg_dim(B, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < p; j++) {
            double sum = 0;
            for (int64_t k = 0; k <= i; k++)
                sum += kg_get_at(A, i * kg_stride(A, 0) + k * kg_stride(A, 1)) *
                       kg_get_at(B, k * kg_stride(B, 0) + j * kg_stride(B, 1));
            kg_put(out, i * p + j, beta * (alpha * sum));
        }
    return 0;
}
