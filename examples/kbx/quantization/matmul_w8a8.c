/* kgate: task=matmul_w8a8
 *
 * Both operands are quantised once, weight into columns of int8; then every output is an int32 sum.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* n values, `step` apart, to int8; returns their scale. */
static float quantise(const DLTensor *t, int64_t at, int64_t step, int64_t n, int8_t *q) {
    float largest = 0;
    for (int64_t k = 0; k < n; k++) largest = fmaxf(largest, fabsf((float)kg_get_at(t, at + k * step)));
    float scale = largest / 127;
    for (int64_t k = 0; k < n; k++) q[k] = scale > 0 ? (int8_t)rintf((float)kg_get_at(t, at + k * step) / scale) : 0;
    return scale;
}

int matmul_w8a8(const DLTensor *input, const DLTensor *weight, DLTensor *out) {
    int64_t rows = kg_dim(input, 0), terms = kg_dim(input, 1), columns = kg_dim(weight, 1);
    int8_t *row = malloc((size_t)(terms * (columns + 1)) + 1), *column = row + terms;
    float *scales = malloc((size_t)columns * sizeof *scales + 1);
    if (!row || !scales) return 1;
    for (int64_t j = 0; j < columns; j++)
        scales[j] = quantise(weight, j * kg_stride(weight, 1), kg_stride(weight, 0), terms, column + j * terms);
    for (int64_t i = 0; i < rows; i++) {
        float scale = quantise(input, i * kg_stride(input, 0), kg_stride(input, 1), terms, row);
        for (int64_t j = 0; j < columns; j++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < terms; k++) sum += row[k] * column[j * terms + k];
            kg_put(out, i * columns + j, (float)sum * scale * scales[j]);
        }
    }
    free(row);
    free(scales);
    return 0;
}
