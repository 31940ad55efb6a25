/* kgate: task=gap22/layer_norm
 *
 * Three passes over a block: its mean, the squares about it, the results.
 */
#include <kgate/kernel.h>
#include <math.h>

/* Elements normalised together. */
static int64_t block(const kg_ints *shape) {
    int64_t n = 1;
    for (int64_t d = 0; d < shape->n; d++) n *= shape->v[d];
    return n;
}

int layer_norm(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const DLTensor *bias,
               double eps, DLTensor *out) {
    int64_t n = block(normalized_shape), elements = kg_elements(input);
    for (int64_t first = 0; first < elements; first += n) {
        double mean = 0, squares = 0;
        for (int64_t k = 0; k < n; k++) mean += kg_get(input, first + k) / (double)n;
        for (int64_t k = 0; k < n; k++) {
            double d = kg_get(input, first + k) - mean;
            squares += d * d;
        }
        double deviation = sqrt(squares / (double)n + eps);
        for (int64_t k = 0; k < n; k++) {
            double y = (kg_get(input, first + k) - mean) / deviation;
            kg_put(out, first + k, y * (weight ? kg_get(weight, k) : 1) + (bias ? kg_get(bias, k) : 0));
        }
    }
    return 0;
}
