/* kgate: task=fused_cross_entropy_log_softmax */
#include <kgate/kernel.h>
#include <math.h>

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

int fused_cross_entropy_log_softmax(const DLTensor *input, const DLTensor *target, int64_t dim, const DLTensor *weight,
                                    int64_t ignore_index, const char *reduction, double label_smoothing,
                                    DLTensor *out) {
    (void)dim; /* the classes' */
    const int64_t samples = kg_elements(input) / kg_dim(input, input->ndim == 1 ? 0 : 1);
    double sum = 0, counts = 0, count;
    for (int64_t i = 0; i < samples; i++) {
        const double loss = term(input, target, weight, ignore_index, label_smoothing, i, &count);
        if (kg_same(reduction, "none")) kg_put(out, i, loss);
        sum += loss;
        counts += count;
    }
    if (!kg_same(reduction, "none")) kg_put(out, 0, kg_same(reduction, "mean") ? sum / counts : sum);
    return 0;
}
