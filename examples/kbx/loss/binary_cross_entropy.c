// Binary cross entropy in double; logarithms are no less than -100, as PyTorch has it.
#include <kgate/kernel.h>
#include <math.h>

int binary_cross_entropy(const DLTensor *input, const DLTensor *target, const DLTensor *weight, const char *reduction,
                         DLTensor *out) {
    const int64_t n = kg_elements(input);
    const bool none = kg_same(reduction, "none");
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        const double x = kg_get(input, k), y = kg_get(target, k);
        const double w = weight ? kg_get_broadcast(weight, input, k) : 1;
        const double v = -w * (y * fmax(log(x), -100) + (1 - y) * fmax(log1p(-x), -100));
        if (none) kg_put(out, k, v);
        sum += v;
    }
    if (!none) kg_put(out, 0, kg_same(reduction, "mean") ? sum / (double)n : sum);
    return 0;
}
