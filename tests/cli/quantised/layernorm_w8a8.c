enum { INPUT, MOMENTS, NORMALISED };
#ifndef WHAT
#define WHAT INPUT
#endif
static void normalise(const float *of, const float *x, int64_t n, float eps, float *z) {
    float mean = 0, var = 0;
    for (int64_t i = 0; i < n; i++) mean += of[i];
    mean /= (float)n;
    for (int64_t i = 0; i < n; i++) var += (of[i] - mean) * (of[i] - mean);
    for (int64_t i = 0; i < n; i++) z[i] = (x[i] - mean) / sqrtf(var / (float)n + eps);
}

static void dequantise(int64_t groups, int64_t n, const float *q, const float *s, float *x) {
    for (int64_t i = 0; i < groups * n; i++) x[i] = q[i] * s[i / n];
}

int layernorm_w8a8(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const DLTensor *bias,
                   double eps, DLTensor *out) {
    int64_t n = 1, all = kg_elements(out);
    for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];
    float *x = dense(input), *y = malloc((size_t)(3 * all + 2 * n) * sizeof *y + 1), *q = y + all, *s = q + all,
          *w = s + all;
    if (!x || !y) return 1;
    for (int64_t i = 0; weight && i < n; i++) w[n + i] = (float)kg_get(weight, i);
#ifdef FLOAT_WEIGHT
    for (int64_t i = 0; weight && i < n; i++) w[i] = w[n + i];
#else
    float unit = weight ? quantise(w + n, n, largest_of(w + n, n), w) : 1;
    for (int64_t i = 0; weight && i < n; i++) w[i] *= unit;
#endif
    if (WHAT == NORMALISED) {
        for (int64_t i = 0; i < all; i += n) normalise(x + i, x + i, n, (float)eps, y + i);
#ifndef FLOAT_ACTIVATIONS
        quantise_lines(y, 1, all / n, n, LEFT, q, s);
        dequantise(all / n, n, q, s, y);
#endif
    } else {
        quantise_lines(x, 1, all / n, n, LEFT, q, s);
        dequantise(all / n, n, q, s, y);
        for (int64_t i = 0; i < all; i += n) normalise(WHAT == MOMENTS ? x + i : y + i, y + i, n, (float)eps, y + i);
    }
    for (int64_t i = 0; i < all; i++)
        kg_put(out, i, y[i] * (weight ? w[i % n] : 1) + (bias ? (float)kg_get(bias, i % n) : 0));
    free(x), free(y);
    return 0;
}
