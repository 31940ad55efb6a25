/* kgate: task=fused_silu_layer_norm_conv2d */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    int64_t n, o, p, q;
} place;

static double convolved(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, int64_t stride,
                        int64_t padding, int64_t dilation, int64_t groups, place at) {
    const int64_t channels = kg_dim(weight, 1), group = at.o / (kg_dim(weight, 0) / groups);
    double sum = bias ? kg_get(bias, at.o) : 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < kg_dim(weight, 2); r++)
            for (int64_t s = 0; s < kg_dim(weight, 3); s++) {
                const int64_t y = at.p * stride - padding + r * dilation;
                const int64_t x = at.q * stride - padding + s * dilation;
                if (y < 0 || y >= kg_dim(input, -2) || x < 0 || x >= kg_dim(input, -1)) continue;
                const int64_t plane = at.n * channels * groups + group * channels + c;
                sum += kg_get(input, (plane * kg_dim(input, -2) + y) * kg_dim(input, -1) + x) *
                       kg_get(weight, ((at.o * channels + c) * kg_dim(weight, 2) + r) * kg_dim(weight, 3) + s);
            }
    return sum;
}

int fused_silu_layer_norm_conv2d(const DLTensor *x, const DLTensor *weight, const DLTensor *conv_weight,
                                 const DLTensor *conv_bias, int64_t conv_stride, int64_t conv_padding,
                                 int64_t conv_dilation, int64_t conv_groups, double ln_eps, DLTensor *out) {
    const int64_t height = kg_dim(out, 2), width = kg_dim(out, 3), plane = height * width;
    const int64_t n = kg_dim(out, 1) * plane;
    double *y = malloc((size_t)n * sizeof *y + 1);
    if (!y) return 1;
    for (int64_t image = 0; image < kg_dim(out, 0); image++) {
        double mean = 0, var = 0;
        for (int64_t k = 0; k < n; k++) {
            const place at = {image, k / plane, k / width % height, k % width};
            y[k] = convolved(x, conv_weight, conv_bias, conv_stride, conv_padding, conv_dilation, conv_groups, at);
            mean += y[k] / n;
        }
        for (int64_t k = 0; k < n; k++) var += (y[k] - mean) * (y[k] - mean) / n;
        for (int64_t k = 0; k < n; k++) {
            double z = (y[k] - mean) / sqrt(var + ln_eps);
            if (weight) z *= kg_get(weight, k / plane);
            kg_put(out, image * n + k, z / (1 + exp(-z)));
        }
    }
    free(y);
    return 0;
}
