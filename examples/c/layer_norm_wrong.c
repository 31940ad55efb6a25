/* kgate: task=layer_norm
 *
 * Wrong: one pass in float, variance as mean(x^2) - mean(x)^2. With a mean far from 0 the two terms are nearly equal
 * and what is left of their difference is rounding error.
 */
#include <kgate/kernel.h>
#include <math.h>

int layer_norm(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const DLTensor *bias,
               double eps, DLTensor *out) {
    int64_t n = 1;
    for (int64_t i = 0; i < normalized_shape->n; i++) n *= normalized_shape->v[i];
    for (int64_t e = 0; e < kg_elements(out); e += n) {
        float total = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) {
            float x = (float)kg_get(input, e + i);
            total += x;
            squares += x * x;
        }
        float mean = total / (float)n, variance = squares / (float)n - mean * mean;
        for (int64_t i = 0; i < n; i++) {
            double v = ((float)kg_get(input, e + i) - mean) / sqrtf(variance + (float)eps);
            kg_put(out, e + i, v * (weight ? kg_get(weight, i) : 1) + (bias ? kg_get(bias, i) : 0));
        }
    }
    return 0;
}
