/* kgate: task=conv2d_w8a8
 *
 * One scale for input, one for each output channel; the integers are made once.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* Elements first .. first + n of t (row-major) to int8; returns their scale. */
static float quantise(const DLTensor *t, int64_t first, int64_t n, int8_t *q) {
    float largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf((float)kg_get(t, first + i)));
    float scale = largest / 127;
    for (int64_t i = 0; i < n; i++) q[i] = scale > 0 ? (int8_t)rintf((float)kg_get(t, first + i) / scale) : 0;
    return scale;
}

int conv2d_w8a8(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, int64_t stride, int64_t padding,
                DLTensor *out) {
    int64_t channels = kg_dim(weight, 1), rows = kg_dim(weight, 2), columns = kg_dim(weight, 3);
    int64_t height = kg_dim(input, -2), width = kg_dim(input, -1), terms = channels * rows * columns;
    int8_t *x = malloc((size_t)(kg_elements(input) + terms) + 1), *w = x + kg_elements(input);
    if (!x) return 1;
    float scale = quantise(input, 0, kg_elements(input), x);
    int64_t filters = kg_dim(out, -3), area = kg_dim(out, -2) * kg_dim(out, -1);
    int64_t images = input->ndim == 4 ? kg_dim(input, 0) : 1;
    for (int64_t o = 0; o < filters; o++) {
        float unit = scale * quantise(weight, o * terms, terms, w);
        for (int64_t at = 0; at < images * area; at++) {
            int64_t n = at / area, p = at % area / kg_dim(out, -1), q = at % kg_dim(out, -1);
            int32_t sum = 0;
            for (int64_t k = 0; k < terms; k++) {
                int64_t c = k / (rows * columns);
                int64_t y = p * stride - padding + k / columns % rows, z = q * stride - padding + k % columns;
                if (y >= 0 && y < height && z >= 0 && z < width)
                    sum += x[((n * channels + c) * height + y) * width + z] * w[k];
            }
            kg_put(out, (n * filters + o) * area + at % area, (float)sum * unit + (bias ? (float)kg_get(bias, o) : 0));
        }
    }
    free(x);
    return 0;
}
