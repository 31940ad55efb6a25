/* kgate: task=batch_norm
 *
 * In training the batch's mean and variance count, and move the running ones; else the running ones count.
 */
#include <kgate/kernel.h>
#include <math.h>

/* Row-major index of element k of a channel. */
static int64_t element(const DLTensor *t, int64_t channel, int64_t k) {
    int64_t inner = 1;
    for (int d = 2; d < t->ndim; d++) inner *= t->shape[d];
    return (k / inner * t->shape[1] + channel) * inner + k % inner;
}

static void moments(const DLTensor *t, int64_t channel, int64_t n, double *mean, double *squares) {
    *mean = *squares = 0;
    for (int64_t k = 0; k < n; k++) *mean += kg_get(t, element(t, channel, k)) / (double)n;
    for (int64_t k = 0; k < n; k++) {
        const double d = kg_get(t, element(t, channel, k)) - *mean;
        *squares += d * d;
    }
}

static void move(DLTensor *running, int64_t channel, double momentum, double now) {
    if (running) kg_put(running, channel, (1 - momentum) * kg_get(running, channel) + momentum * now);
}

int batch_norm(const DLTensor *input, DLTensor *running_mean, DLTensor *running_var, const DLTensor *weight,
               const DLTensor *bias, bool training, double momentum, double eps, DLTensor *out) {
    const int64_t channels = kg_dim(input, 1), n = channels ? kg_elements(input) / channels : 0;
    for (int64_t c = 0; c < channels; c++) {
        double mean, var;
        if (training) {
            double squares;
            moments(input, c, n, &mean, &squares);
            var = squares / (double)n;
            move(running_mean, c, momentum, mean);
            move(running_var, c, momentum, squares / (double)(n - 1));
        } else {
            mean = kg_get(running_mean, c);
            var = kg_get(running_var, c);
        }
        for (int64_t k = 0; k < n; k++) {
            const int64_t i = element(input, c, k);
            const double y = (kg_get(input, i) - mean) / sqrt(var + eps);
            kg_put(out, i, y * (weight ? kg_get(weight, c) : 1) + (bias ? kg_get(bias, c) : 0));
        }
    }
    return 0;
}
