/* kgate: task=gap22/batched_matmul
 *
 * A matrix-vector product for every m: each element of B is used once.
 */
#include <kgate/kernel.h>

int batched_matmul(const DLTensor *A, const DLTensor *B, DLTensor *out) {
    int64_t N = kg_dim(B, 1), K = kg_dim(A, 1);
    for (int64_t m = 0; m < kg_dim(A, 0); m++)
        for (int64_t n = 0; n < N; n++) {
            double sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += kg_get_at(A, m * kg_stride(A, 0) + k * kg_stride(A, 1)) *
                       kg_get_at(B, m * kg_stride(B, 0) + n * kg_stride(B, 1) + k * kg_stride(B, 2));
            kg_put(out, m * N + n, sum);
        }
    return 0;
}
