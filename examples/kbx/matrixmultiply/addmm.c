/* kgate: task=addmm
 *
 * With beta 0 input is not read: a NaN in it does not count.
 */
#include <kgate/kernel.h>

int addmm(const DLTensor *input, const DLTensor *mat1, const DLTensor *mat2, double beta, double alpha, DLTensor *out) {
    const int64_t K = kg_dim(mat1, 1), N = kg_dim(mat2, 1);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t a = i / N * kg_stride(mat1, 0), b = i % N * kg_stride(mat2, 1);
        double product = 0;
        for (int64_t k = 0; k < K; k++)
            product += kg_get_at(mat1, a + k * kg_stride(mat1, 1)) * kg_get_at(mat2, b + k * kg_stride(mat2, 0));
        kg_put(out, i, alpha * product + (beta == 0 ? 0 : beta * kg_get_broadcast(input, out, i)));
    }
    return 0;
}
