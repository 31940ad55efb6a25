/* kgate: task=layer_norm
 *
 * A row at a time: its mean, then the squares of the differences, then the scaled row; the row stays in cache from the
 * first pass to the last, so memory sees one read and one write. Rows go to cores.
 */
#include <kgate/kernel.h>
#include <math.h>

static const float *plain(const DLTensor *t) {
    bool f32 = t && t->dtype.code == kDLFloat && t->dtype.bits == 32 && kg_contiguous(t);
    return f32 ? (const float *)((const char *)t->data + t->byte_offset) : 0;
}

static void row(const float *x, const float *weight, const float *bias, double eps, float *y, int64_t n) {
    float total = 0, squares = 0, rest = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; i++) total += x[i];
    float mean = total / (float)n;
    /* the mean of the differences takes the rounding of the first mean off: it matters when the mean is large */
#pragma omp simd reduction(+ : rest)
    for (int64_t i = 0; i < n; i++) rest += x[i] - mean;
    rest /= (float)n;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; i++) squares += (x[i] - mean - rest) * (x[i] - mean - rest);
    float scale = (float)(1 / sqrt((double)squares / (double)n + eps));
    for (int64_t i = 0; i < n; i++) {
        float v = (x[i] - mean - rest) * scale;
        y[i] = (weight ? v * weight[i] : v) + (bias ? bias[i] : 0);
    }
}

/* Any strides and dtypes, in double. */
static void general(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, double eps, DLTensor *out,
                    int64_t first, int64_t n) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) mean += kg_get(input, first + i) / (double)n;
    for (int64_t i = 0; i < n; i++) squares += (kg_get(input, first + i) - mean) * (kg_get(input, first + i) - mean);
    double scale = 1 / sqrt(squares / (double)n + eps);
    for (int64_t i = 0; i < n; i++) {
        double v = (kg_get(input, first + i) - mean) * scale;
        kg_put(out, first + i, v * (weight ? kg_get(weight, i) : 1) + (bias ? kg_get(bias, i) : 0));
    }
}

int layer_norm(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const DLTensor *bias,
               double eps, DLTensor *out) {
    int64_t n = 1, elements = kg_elements(out);
    for (int64_t i = 0; i < normalized_shape->n; i++) n *= normalized_shape->v[i];
    const float *x = plain(input), *w = plain(weight), *b = plain(bias);
    float *y = (float *)plain(out);
    bool fast = x && y && (w || !weight) && (b || !bias);
    if (elements == 0) return 0;
#pragma omp parallel for schedule(static) if (elements > 8192)
    for (int64_t r = 0; r < elements / n; r++) {
        if (fast) row(x + r * n, w, b, eps, y + r * n, n);
        else general(input, weight, bias, eps, out, r * n, n);
    }
    return 0;
}
