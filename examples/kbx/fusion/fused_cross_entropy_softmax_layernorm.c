/* kgate: task=fused_cross_entropy_softmax_layernorm */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* -sum over classes of weight * probability * log softmax; *counts is what the sample counts in a mean. */
static double term(const DLTensor *input, const DLTensor *target, const DLTensor *weight, int64_t ignore_index,
                   double smoothing, int64_t sample, double *counts) {
    const bool classes = target->dtype.code == kDLInt;
    const int64_t dim = input->ndim == 1 ? 0 : 1, n = kg_dim(input, dim), step = kg_stride(input, dim);
    const int64_t from = kg_line(input, dim, sample), t = classes ? (int64_t)kg_get(target, sample) : 0;
    double largest = kg_get_at(input, from), sum = 0, loss = 0;
    *counts = 0;
    if (classes && t == ignore_index) return 0;
    for (int64_t c = 1; c < n; c++) largest = fmax(largest, kg_get_at(input, from + c * step));
    for (int64_t c = 0; c < n; c++) sum += exp(kg_get_at(input, from + c * step) - largest);
    for (int64_t c = 0; c < n; c++) {
        const double w = weight ? kg_get(weight, c) : 1, log_p = kg_get_at(input, from + c * step) - largest - log(sum);
        double p = classes ? c == t : kg_get_at(target, kg_line(target, dim, sample) + c * kg_stride(target, dim));
        if (classes && c != t && smoothing == 0) continue;
        p = (1 - smoothing) * p + smoothing / n;
        loss -= w * p * log_p;
    }
    *counts = classes && weight ? kg_get(weight, t) : 1;
    return loss;
}

static void softmax(const DLTensor *logits, int64_t row, double *p) {
    const int64_t n = kg_dim(logits, 1);
    double largest = kg_get(logits, row * n), sum = 0;
    for (int64_t c = 1; c < n; c++) largest = fmax(largest, kg_get(logits, row * n + c));
    for (int64_t c = 0; c < n; c++) sum += p[c] = exp(kg_get(logits, row * n + c) - largest);
    for (int64_t c = 0; c < n; c++) p[c] /= sum;
}

static void layer_norm(double *x, int64_t n, double eps) {
    double mean = 0, var = 0;
    for (int64_t i = 0; i < n; i++) mean += x[i];
    mean /= n;
    for (int64_t i = 0; i < n; i++) var += (x[i] - mean) * (x[i] - mean);
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - mean) / sqrt(var / n + eps);
}

int fused_cross_entropy_softmax_layernorm(const DLTensor *logits, const DLTensor *targets,
                                          const kg_ints *normalized_shape, const DLTensor *weight, int64_t ignore_index,
                                          const char *reduction, double label_smoothing, double eps, DLTensor *loss,
                                          DLTensor *normalized) {
    const int64_t samples = kg_dim(logits, 0), n = kg_dim(logits, 1),
                  block = normalized_shape->n == 2 ? samples * n : n;
    double sum = 0, counts = 0, count, *p = malloc((size_t)(samples * n + 1) * sizeof *p);
    if (!p) return 1;
    for (int64_t i = 0; i < samples; i++) {
        const double v = term(logits, targets, weight, ignore_index, label_smoothing, i, &count);
        if (kg_same(reduction, "none")) kg_put(loss, i, v);
        sum += v;
        counts += count;
        softmax(logits, i, p + i * n);
    }
    if (!kg_same(reduction, "none")) kg_put(loss, 0, kg_same(reduction, "mean") ? sum / counts : sum);
    for (int64_t first = 0; first < samples * n; first += block) layer_norm(p + first, block, eps);
    for (int64_t i = 0; i < samples * n; i++) kg_put(normalized, i, p[i]);
    free(p);
    return 0;
}
