/* kgate: task=layernorm_w8a8
 *
 * Normalises in float, quantises each group's normalised values and the weight, and multiplies their integers.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static float quantise(const float *x, int64_t n, int8_t *q) {
    float largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[i]));
    float scale = largest / 127;
    for (int64_t i = 0; i < n; i++) q[i] = scale > 0 ? (int8_t)rintf(x[i] / scale) : 0;
    return scale;
}

static void normalise(const DLTensor *input, int64_t first, int64_t n, double eps, float *to) {
    float mean = 0, var = 0;
    for (int64_t i = 0; i < n; i++) to[i] = (float)kg_get(input, first + i);
    for (int64_t i = 0; i < n; i++) mean += to[i];
    mean /= (float)n;
    for (int64_t i = 0; i < n; i++) var += (to[i] - mean) * (to[i] - mean);
    for (int64_t i = 0; i < n; i++) to[i] = (to[i] - mean) / sqrtf(var / (float)n + (float)eps);
}

int layernorm_w8a8(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const DLTensor *bias,
                   double eps, DLTensor *out) {
    int64_t n = 1;
    for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];
    float *values = malloc((size_t)n * (sizeof *values + 2) + 1);
    if (!values) return 1;
    int8_t *z = (int8_t *)(values + n), *w = z + n;
    for (int64_t i = 0; weight && i < n; i++) values[i] = (float)kg_get(weight, i);
    float weight_scale = weight ? quantise(values, n, w) : 1;
    for (int64_t first = 0; first < kg_elements(out); first += n) {
        normalise(input, first, n, eps, values);
        float unit = quantise(values, n, z) * weight_scale;
        for (int64_t i = 0; i < n; i++)
            kg_put(out, first + i, unit * (float)(z[i] * (weight ? w[i] : 1)) + (bias ? (float)kg_get(bias, i) : 0));
    }
    free(values);
    return 0;
}
