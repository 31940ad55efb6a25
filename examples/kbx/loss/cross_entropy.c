/* kgate: task=cross_entropy
 *
 * -log softmax at the target, or averaged over target probabilities. A term is a line along the class dimension.
 */
#include <kgate/kernel.h>
#include <math.h>

typedef struct {
    double value, weight;
} term;

static double log_sum(const DLTensor *input, int64_t dim, int64_t line) {
    int64_t from = kg_line(input, dim, line), step = kg_stride(input, dim), n = kg_dim(input, dim);
    double largest = kg_get_at(input, from), sum = 0;
    for (int64_t c = 1; c < n; c++) largest = fmax(largest, kg_get_at(input, from + c * step));
    for (int64_t c = 0; c < n; c++) sum += exp(kg_get_at(input, from + c * step) - largest);
    return largest + log(sum);
}

static term of_line(const DLTensor *input, const DLTensor *target, const DLTensor *weight, int64_t ignore_index,
                    int64_t line) {
    int64_t dim = input->ndim == 1 ? 0 : 1, from = kg_line(input, dim, line), step = kg_stride(input, dim);
    if (target->dtype.code == kDLInt) {
        int64_t c = (int64_t)kg_get(target, line);
        if (c == ignore_index) return (term){0, 0};
        double w = weight ? kg_get(weight, c) : 1;
        return (term){w * (log_sum(input, dim, line) - kg_get_at(input, from + c * step)), w};
    }
    double all = log_sum(input, dim, line), sum = 0;
    for (int64_t c = 0; c < kg_dim(input, dim); c++) {
        double p = kg_get_at(target, kg_line(target, dim, line) + c * kg_stride(target, dim));
        sum += (weight ? kg_get(weight, c) : 1) * p * (all - kg_get_at(input, from + c * step));
    }
    return (term){sum, 1};
}

int cross_entropy(const DLTensor *input, const DLTensor *target, const DLTensor *weight, int64_t ignore_index,
                  const char *reduction, DLTensor *out) {
    int64_t lines = kg_elements(input) / kg_dim(input, input->ndim == 1 ? 0 : 1);
    bool each = kg_same(reduction, "none");
    term total = {0, 0};
    for (int64_t i = 0; i < lines; i++) {
        term t = of_line(input, target, weight, ignore_index, i);
        if (each) kg_put(out, i, t.value);
        total.value += t.value;
        total.weight += t.weight;
    }
    if (!each) kg_put(out, 0, kg_same(reduction, "mean") ? total.value / total.weight : total.value);
    return 0;
}
