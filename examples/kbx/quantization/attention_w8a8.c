/* kgate: task=attention_w8a8
 *
 * One scale for each of query, key and value. exp(score - max) is quantised to 1/127, so that both products are sums of
 * integers.
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

/* One row of query against all keys: the integers of exp(score - max); returns what one of them is worth. */
static float weigh(const int8_t *query, const int8_t *key, int64_t keys, int64_t depth, float unit, float *p,
                   int8_t *w) {
    float most = -INFINITY, total = 0;
    for (int64_t j = 0; j < keys; j++) {
        int32_t sum = 0;
        for (int64_t k = 0; k < depth; k++) sum += query[k] * key[j * depth + k];
        p[j] = (float)sum * unit / sqrtf((float)depth);
        most = fmaxf(most, p[j]);
    }
    for (int64_t j = 0; j < keys; j++) {
        p[j] = expf(p[j] - most);
        total += p[j];
        w[j] = (int8_t)rintf(p[j] * 127);
    }
    return 1 / (127 * total);
}

int attention_w8a8(const DLTensor *query, const DLTensor *key, const DLTensor *value, DLTensor *out) {
    int64_t rows = kg_dim(query, 1), keys = kg_dim(key, 1), depth = kg_dim(key, 2), width = kg_dim(value, 2);
    float *p =
        malloc((size_t)keys * sizeof *p + (size_t)(kg_elements(query) + kg_elements(key) + kg_elements(value) + keys));
    if (!p) return 1;
    int8_t *w = (int8_t *)(p + keys), *q = w + keys, *k = q + kg_elements(query), *v = k + kg_elements(key);
    float unit = quantise(query, q) * quantise(key, k), value_scale = quantise(value, v);
    for (int64_t i = 0; i < kg_dim(query, 0) * rows; i++) {
        int64_t first = i / rows * keys;
        float scale = value_scale * weigh(q + i * depth, k + first * depth, keys, depth, unit, p, w);
        for (int64_t e = 0; e < width; e++) {
            int32_t sum = 0;
            for (int64_t j = 0; j < keys; j++) sum += w[j] * v[(first + j) * width + e];
            kg_put(out, i * width + e, (float)sum * scale);
        }
    }
    free(p);
    return 0;
}
