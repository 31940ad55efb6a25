/* kgate: task=matrix_multiply_and_row_dot
 *
 * Only the first two rows of the product are needed: their elements of one column are computed together.
 */
#include <kgate/kernel.h>

int matrix_multiply_and_row_dot(const DLTensor *A, const DLTensor *B, double alpha, double beta, const DLTensor *C,
                                DLTensor *out) {
    double dot = 0;
    for (int64_t j = 0; j < kg_dim(B, 1); j++) {
        double first = 0, second = 0;
        for (int64_t k = 0; k < kg_dim(B, 0); k++) {
            double b = kg_get_at(B, k * kg_stride(B, 0) + j * kg_stride(B, 1));
            first += kg_get_at(A, k * kg_stride(A, 1)) * b;
            second += kg_get_at(A, kg_stride(A, 0) + k * kg_stride(A, 1)) * b;
        }
        first = alpha * first + beta * kg_get_at(C, j * kg_stride(C, 1));
        second = alpha * second + beta * kg_get_at(C, kg_stride(C, 0) + j * kg_stride(C, 1));
        dot += first * second;
    }
    kg_put(out, 0, dot);
    return 0;
}
