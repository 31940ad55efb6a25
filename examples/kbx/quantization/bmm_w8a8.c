/* kgate: task=bmm_w8a8
 *
 * One scale for each operand, as the simplest reading has it.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* All of t to int8, in row-major order; returns the scale. */
static float quantise(const DLTensor *t, int8_t *q) {
    int64_t n = kg_elements(t);
    float largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf((float)kg_get(t, i)));
    float scale = largest / 127;
    for (int64_t i = 0; i < n; i++) q[i] = scale > 0 ? (int8_t)rintf((float)kg_get(t, i) / scale) : 0;
    return scale;
}

int bmm_w8a8(const DLTensor *input, const DLTensor *mat2, DLTensor *out) {
    int64_t rows = kg_dim(input, 1), terms = kg_dim(input, 2), columns = kg_dim(mat2, 2);
    int8_t *a = malloc((size_t)(kg_elements(input) + kg_elements(mat2)) + 1), *b = a + kg_elements(input);
    if (!a) return 1;
    float scale = quantise(input, a) * quantise(mat2, b);
    for (int64_t i = 0; i < kg_dim(input, 0) * rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < terms; k++) sum += a[i * terms + k] * b[(i / rows * terms + k) * columns + j];
            kg_put(out, i * columns + j, (float)sum * scale);
        }
    free(a);
    return 0;
}
