/* kgate: task=fused_add_mul_groupnorm */
#include <kgate/kernel.h>
#include <math.h>

static double product(const DLTensor *input1, const DLTensor *input2, int64_t k) {
    const double y = kg_get_broadcast(input2, input1, k);
    return (kg_get(input1, k) + y) * y;
}

int fused_add_mul_groupnorm(const DLTensor *input1, const DLTensor *input2, const DLTensor *weight,
                            const DLTensor *bias, int64_t num_groups, double eps, DLTensor *out) {
    if (kg_elements(out) == 0) return 0;
    const int64_t channels = kg_dim(input1, 1), groups = kg_dim(input1, 0) * num_groups;
    const int64_t n = kg_elements(out) / groups, inner = n / (channels / num_groups);
    for (int64_t first = 0; first < groups * n; first += n) {
        double mean = 0, var = 0;
        for (int64_t k = first; k < first + n; k++) mean += product(input1, input2, k);
        mean /= n;
        for (int64_t k = first; k < first + n; k++) {
            const double d = product(input1, input2, k) - mean;
            var += d * d;
        }
        const double scale = 1 / sqrt(var / n + eps);
        for (int64_t k = first; k < first + n; k++) {
            const int64_t c = k / inner % channels;
            kg_put(out, k, (product(input1, input2, k) - mean) * scale * kg_get(weight, c) + kg_get(bias, c));
        }
    }
    return 0;
}
