/* kgate: task=fused_mul_sub */
#include <kgate/kernel.h>

int fused_mul_sub(const DLTensor *input, const DLTensor *other_mul, const DLTensor *other_sub, double alpha,
                  DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const double product = kg_get_broadcast(input, out, i) * kg_get_broadcast(other_mul, out, i);
        kg_put(out, i, product - alpha * kg_get_broadcast(other_sub, out, i));
    }
    return 0;
}
