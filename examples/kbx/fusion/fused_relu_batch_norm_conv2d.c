/* kgate: task=fused_relu_batch_norm_conv2d */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static int64_t of(const kg_ints *a, int d) { return a->v[d < a->n ? d : a->n - 1]; }

typedef struct {
    int64_t n, o, p, q;
} place;

static double convolved(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, const kg_ints *stride,
                        const kg_ints *padding, const kg_ints *dilation, int64_t groups, place at) {
    const int64_t channels = kg_dim(weight, 1), group = at.o / (kg_dim(weight, 0) / groups);
    double sum = bias ? kg_get(bias, at.o) : 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < kg_dim(weight, 2); r++)
            for (int64_t s = 0; s < kg_dim(weight, 3); s++) {
                const int64_t y = at.p * of(stride, 0) - of(padding, 0) + r * of(dilation, 0);
                const int64_t x = at.q * of(stride, 1) - of(padding, 1) + s * of(dilation, 1);
                if (y < 0 || y >= kg_dim(input, -2) || x < 0 || x >= kg_dim(input, -1)) continue;
                const int64_t plane = at.n * channels * groups + group * channels + c;
                sum += kg_get(input, (plane * kg_dim(input, -2) + y) * kg_dim(input, -1) + x) *
                       kg_get(weight, ((at.o * channels + c) * kg_dim(weight, 2) + r) * kg_dim(weight, 3) + s);
            }
    return sum;
}

static void running(DLTensor *t, int64_t o, double momentum, double now) {
    if (t) kg_put(t, o, (1 - momentum) * kg_get(t, o) + momentum * now);
}

int fused_relu_batch_norm_conv2d(const DLTensor *input, const DLTensor *weight, const DLTensor *bias,
                                 const kg_ints *stride, const kg_ints *padding, const kg_ints *dilation, int64_t groups,
                                 DLTensor *running_mean, DLTensor *running_var, const DLTensor *bn_weight,
                                 const DLTensor *bn_bias, bool training, double momentum, double eps, bool inplace,
                                 DLTensor *out) {
    const int64_t filters = kg_dim(out, 1), height = kg_dim(out, 2), width = kg_dim(out, 3);
    const int64_t plane = height * width, n = kg_dim(out, 0) * plane;
    double *y = malloc((size_t)n * sizeof *y + 1);
    (void)inplace;
    if (!y) return 1;
    for (int64_t o = 0; o < filters; o++) {
        double mean = 0, var = 0;
        for (int64_t k = 0; k < n; k++) {
            const place at = {k / plane, o, k / width % height, k % width};
            y[k] = convolved(input, weight, bias, stride, padding, dilation, groups, at);
            mean += y[k] / n;
        }
        for (int64_t k = 0; k < n; k++) var += (y[k] - mean) * (y[k] - mean);
        if (training) {
            running(running_mean, o, momentum, mean);
            running(running_var, o, momentum, var / (n - 1));
        }
        if (!training) mean = kg_get(running_mean, o);
        var = training ? var / n : kg_get(running_var, o);
        for (int64_t k = 0; k < n; k++) {
            double z = (y[k] - mean) / sqrt(var + eps);
            z = z * (bn_weight ? kg_get(bn_weight, o) : 1) + (bn_bias ? kg_get(bn_bias, o) : 0);
            kg_put(out, (k / plane * filters + o) * plane + k % plane, z < 0 ? 0 : z);
        }
    }
    free(y);
    return 0;
}
