/* kgate: task=symmetric_matrix_vector_norm */
#include <kgate/kernel.h>
#include <math.h>

int symmetric_matrix_vector_norm(const DLTensor *A, const DLTensor *x, double alpha, double beta, double p,
                                 DLTensor *out) {
    const int64_t n = kg_dim(x, 0);
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        double y = 0;
        for (int64_t k = 0; k < n; k++) y += kg_get_at(A, i * kg_stride(A, 0) + k * kg_stride(A, 1)) * kg_get(x, k);
        y = fabs((1 + beta) * (alpha * y));
        if (isinf(p)) norm = y > norm || y != y ? y : norm;
        else norm += pow(y, p);
    }
    kg_put(out, 0, isinf(p) ? norm : pow(norm, 1 / p));
    return 0;
}
