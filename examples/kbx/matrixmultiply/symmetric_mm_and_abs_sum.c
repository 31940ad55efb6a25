/* kgate: task=symmetric_mm_and_abs_sum
 *
 * Two rows of A meet in a product once; it serves both elements that they give.
 */
#include <kgate/kernel.h>
#include <math.h>

int symmetric_mm_and_abs_sum(const DLTensor *A, const DLTensor *C, double alpha, double beta, DLTensor *out) {
    int64_t n = kg_dim(A, 0), m = kg_dim(A, 1);
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < m; k++)
                sum += kg_get_at(A, i * kg_stride(A, 0) + k * kg_stride(A, 1)) *
                       kg_get_at(A, j * kg_stride(A, 0) + k * kg_stride(A, 1));
            total += fabs(alpha * sum + beta * kg_get_at(C, i * kg_stride(C, 0) + j * kg_stride(C, 1)));
            if (i == j) continue;
            total += fabs(alpha * sum + beta * kg_get_at(C, j * kg_stride(C, 0) + i * kg_stride(C, 1)));
        }
    kg_put(out, 0, total);
    return 0;
}
