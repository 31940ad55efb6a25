/* kgate: task=matrix_vector_dot
 *
 * One pass over A: each row's product updates its y, and goes on into the dot product at once.
 */
#include <kgate/kernel.h>

int matrix_vector_dot(const DLTensor *A, const DLTensor *x, DLTensor *y, double alpha, double beta, DLTensor *out) {
    double dot = 0;
    for (int64_t i = 0; i < kg_dim(A, 0); i++) {
        double sum = 0;
        for (int64_t k = 0; k < kg_dim(A, 1); k++)
            sum += kg_get_at(A, i * kg_stride(A, 0) + k * kg_stride(A, 1)) * kg_get(x, k);
        kg_put(y, i, alpha * sum + beta * kg_get(y, i));
        dot += kg_get(y, i) * kg_get(x, i);
    }
    kg_put(out, 0, dot);
    return 0;
}
