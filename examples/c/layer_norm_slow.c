/* kgate: task=layer_norm
 *
 * Right, and slow: one core, one element at a time, every index found by division, a square root and a division for
 * every output.
 */
#include <kgate/kernel.h>
#include <math.h>

int layer_norm(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const DLTensor *bias,
               double eps, DLTensor *out) {
    int64_t n = 1;
    for (int64_t i = 0; i < normalized_shape->n; i++) n *= normalized_shape->v[i];
    for (int64_t e = 0; e < kg_elements(out); e += n) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) mean += kg_get(input, e + i) / (double)n;
        for (int64_t i = 0; i < n; i++) squares += (kg_get(input, e + i) - mean) * (kg_get(input, e + i) - mean);
        for (int64_t i = 0; i < n; i++) {
            double v = (kg_get(input, e + i) - mean) / sqrt(squares / (double)n + eps);
            kg_put(out, e + i, v * (weight ? kg_get(weight, i) : 1) + (bias ? kg_get(bias, i) : 0));
        }
    }
    return 0;
}
