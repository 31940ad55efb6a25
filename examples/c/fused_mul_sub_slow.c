/* kgate: task=fused_mul_sub
 *
 * Right, and slow: not fused after all. The product goes to memory, one element at a time, and is read back for the
 * difference, each element found anew by division and remainder.
 */
#include <kgate/kernel.h>
#include <stdlib.h>

int fused_mul_sub(const DLTensor *input, const DLTensor *other_mul, const DLTensor *other_sub, double alpha,
                  DLTensor *out) {
    int64_t n = kg_elements(out);
    double *product = malloc((size_t)(n + 1) * sizeof *product);
    if (!product) return 1;
    for (int64_t i = 0; i < n; i++) product[i] = kg_get_broadcast(input, out, i) * kg_get_broadcast(other_mul, out, i);
    for (int64_t i = 0; i < n; i++) kg_put(out, i, product[i] - alpha * kg_get_broadcast(other_sub, out, i));
    free(product);
    return 0;
}
