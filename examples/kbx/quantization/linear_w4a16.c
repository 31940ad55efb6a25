/* kgate: task=linear_w4a16
 *
 * weight is packed once, two int4 a byte, the lower four bits first; then it is read from there.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* Row j of weight to packed int4; returns its scale. */
static float pack(const DLTensor *weight, int64_t j, uint8_t *to) {
    int64_t n = kg_dim(weight, 1);
    float largest = 0;
    for (int64_t k = 0; k < n; k++) largest = fmaxf(largest, fabsf((float)kg_get(weight, j * n + k)));
    float scale = largest / 7;
    for (int64_t k = 0; k < n; k++) {
        int q = scale > 0 ? (int)rintf((float)kg_get(weight, j * n + k) / scale) : 0;
        if (k % 2 == 0) to[k / 2] = (uint8_t)(q & 15);
        else to[k / 2] |= (uint8_t)((q & 15) << 4);
    }
    return scale;
}

static int unpack(const uint8_t *from, int64_t k) {
    int q = k % 2 ? from[k / 2] >> 4 : from[k / 2] & 15;
    return q < 8 ? q : q - 16;
}

int linear_w4a16(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, DLTensor *out) {
    int64_t terms = kg_dim(weight, 1), filters = kg_dim(weight, 0), rows = kg_elements(out) / filters;
    uint8_t *packed = malloc((size_t)(terms + 1) / 2 + 1);
    if (!packed) return 1;
    for (int64_t j = 0; j < filters; j++) {
        float scale = pack(weight, j, packed);
        for (int64_t i = 0; i < rows; i++) {
            float sum = 0;
            for (int64_t k = 0; k < terms; k++) sum += (float)kg_get(input, i * terms + k) * (float)unpack(packed, k);
            kg_put(out, i * filters + j, sum * scale + (bias ? (float)kg_get(bias, j) : 0));
        }
    }
    free(packed);
    return 0;
}
