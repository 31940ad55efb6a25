/* kgate: task=fused_dropout_relu_batch_norm_conv2d */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    const DLTensor *input, *weight;
    const kg_ints *stride, *padding, *dilation;
    int64_t first;  // input channel of the filter's group
} conv;

static double position(const conv *v, int64_t n, int64_t o, int64_t p, int64_t q) {
    const DLTensor *x = v->input, *w = v->weight;
    double sum = 0;
    for (int64_t c = 0; c < kg_dim(w, 1); c++)
        for (int64_t r = 0; r < kg_dim(w, 2); r++)
            for (int64_t s = 0; s < kg_dim(w, 3); s++) {
                const int64_t y = p * v->stride->v[0] - v->padding->v[0] + r * v->dilation->v[0];
                const int64_t z = q * v->stride->v[v->stride->n - 1] - v->padding->v[v->padding->n - 1] +
                                  s * v->dilation->v[v->dilation->n - 1];
                if (y < 0 || y >= kg_dim(x, 2) || z < 0 || z >= kg_dim(x, 3)) continue;
                sum +=
                    kg_get_at(x, n * kg_stride(x, 0) + (v->first + c) * kg_stride(x, 1) + y * kg_stride(x, 2) +
                                     z * kg_stride(x, 3)) *
                    kg_get_at(w, o * kg_stride(w, 0) + c * kg_stride(w, 1) + r * kg_stride(w, 2) + s * kg_stride(w, 3));
            }
    return sum;
}

int fused_dropout_relu_batch_norm_conv2d(const DLTensor *input, const DLTensor *weight, const DLTensor *bias,
                                         const kg_ints *stride, const kg_ints *padding, const kg_ints *dilation,
                                         int64_t groups, double p, bool training, bool inplace, int64_t seed,
                                         DLTensor *out) {
    (void)inplace;
    const int64_t filters = kg_dim(out, 1), width = kg_dim(out, 3), image = kg_dim(out, 2) * width;
    const int64_t n = kg_dim(out, 0) * image;
    const double scale = training ? 1 / (1 - p) : 1;
    double *x = malloc(sizeof *x * (size_t)(n + 1));
    for (int64_t o = 0; o < filters; o++) {
        const conv v = {input, weight, stride, padding, dilation, o / (filters / groups) * kg_dim(weight, 1)};
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < n; i++) {
            x[i] = position(&v, i / image, o, i % image / width, i % width) + (bias ? kg_get(bias, o) : 0);
            mean += x[i] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = (i / image * filters + o) * image + i % image;
            const double y = (x[i] - mean) / sqrt(variance + 1e-5);
            const bool dropped = training && kg_uniform(seed, at) < p;
            kg_put(out, at, dropped || y < 0 ? 0 : y * scale);
        }
    }
    free(x);
    return 0;
}
