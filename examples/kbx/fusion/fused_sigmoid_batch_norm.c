/* kgate: task=fused_sigmoid_batch_norm */
#include <kgate/kernel.h>
#include <math.h>

static double x_at(const DLTensor *input, int64_t channel, int64_t k) {
    const int64_t n = kg_elements(input) / kg_dim(input, 0) / kg_dim(input, 1);
    return kg_get(input, (k / n * kg_dim(input, 1) + channel) * n + k % n);
}

int fused_sigmoid_batch_norm(const DLTensor *input, DLTensor *running_mean, DLTensor *running_var,
                             const DLTensor *weight, const DLTensor *bias, bool training, double momentum, double eps,
                             DLTensor *out) {
    if (kg_elements(input) == 0) return 0;
    const int64_t channels = kg_dim(input, 1), n = kg_elements(input) / channels, inner = n / kg_dim(input, 0);
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0, var = 0;
        if (training) {
            for (int64_t k = 0; k < n; k++) mean += x_at(input, c, k);
            mean /= n;
            for (int64_t k = 0; k < n; k++) var += (x_at(input, c, k) - mean) * (x_at(input, c, k) - mean);
            if (running_mean) kg_put(running_mean, c, (1 - momentum) * kg_get(running_mean, c) + momentum * mean);
            if (running_var)
                kg_put(running_var, c, (1 - momentum) * kg_get(running_var, c) + momentum * (var / (n - 1)));
            var /= n;
        } else {
            mean = kg_get(running_mean, c);
            var = kg_get(running_var, c);
        }
        const double scale = (weight ? kg_get(weight, c) : 1) / sqrt(var + eps), shift = bias ? kg_get(bias, c) : 0;
        for (int64_t k = 0; k < n; k++) {
            const double y = (x_at(input, c, k) - mean) * scale + shift;
            kg_put(out, (k / inner * channels + c) * inner + k % inner, 1 / (1 + exp(-y)));
        }
    }
    return 0;
}
