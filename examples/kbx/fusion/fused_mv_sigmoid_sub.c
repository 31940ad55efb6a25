/* kgate: task=fused_mv_sigmoid_sub */
#include <kgate/kernel.h>
#include <math.h>

int fused_mv_sigmoid_sub(const DLTensor *input, const DLTensor *vec, const DLTensor *other, double alpha,
                         DLTensor *out) {
    const int64_t n = kg_dim(input, 0), m = kg_dim(input, 1);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t row = n == 1 ? 0 : i % n; /* other may add dimensions in front, or widen a single row */
        double z = 0;
        for (int64_t k = 0; k < m; k++)
            z += kg_get_at(input, row * kg_stride(input, 0) + k * kg_stride(input, 1)) * kg_get(vec, k);
        kg_put(out, i, 1 / (1 + exp(-z)) - alpha * kg_get_broadcast(other, out, i));
    }
    return 0;
}
