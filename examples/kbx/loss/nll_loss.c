/* kgate: task=nll_loss */
#include <kgate/kernel.h>

int nll_loss(const DLTensor *input, const DLTensor *target, const DLTensor *weight, int64_t ignore_index,
             const char *reduction, DLTensor *out) {
    const int64_t dim = input->ndim == 1 ? 0 : 1;
    const bool each = kg_same(reduction, "none");
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < kg_elements(target); i++) {
        const int64_t c = (int64_t)kg_get(target, i);
        double w = 0, loss = 0;
        if (c != ignore_index) {
            w = weight ? kg_get(weight, c) : 1;
            loss = -w * kg_get_at(input, kg_line(input, dim, i) + c * kg_stride(input, dim));
        }
        if (each) kg_put(out, i, loss);
        sum += loss;
        weights += w;
    }
    if (!each) kg_put(out, 0, kg_same(reduction, "mean") ? sum / weights : sum);
    return 0;
}
