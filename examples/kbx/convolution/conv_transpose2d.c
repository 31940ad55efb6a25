// kgate: task=conv_transpose2d
//
// The output starts as the bias; then every input element adds its channel's filters, scaled by itself, where they
// land.
#include <kgate/kernel.h>
#include <stdlib.h>

static int64_t entry(const kg_ints *v, int k) { return v->v[k < v->n ? k : v->n - 1]; }

int conv_transpose2d(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, const kg_ints *stride,
                     const kg_ints *padding, const kg_ints *output_padding, int64_t groups, const kg_ints *dilation,
                     DLTensor *out) {
    const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), outs = kg_dim(out, -3), n = kg_elements(out);
    const int64_t columns = kg_dim(input, -1), rows = kg_dim(input, -2), channels = kg_dim(input, -3);
    double *sum = calloc((size_t)n + 1, sizeof *sum);
    (void)output_padding;
    if (!sum) return 1;
    for (int64_t i = 0; i < n && bias; i++) sum[i] = kg_get(bias, i / (width * height) % outs);
    for (int64_t i = 0; i < kg_elements(input); i++) {
        const int64_t z = i % columns, y = i / columns % rows, c = i / (columns * rows) % channels;
        const int64_t image = i / (columns * rows * channels), first = c / (channels / groups) * kg_dim(weight, 1);
        const double x = kg_get(input, i);
        for (int64_t k = 0; k < kg_elements(weight) / channels; k++) {
            const int64_t s = k % kg_dim(weight, 3), r = k / kg_dim(weight, 3) % kg_dim(weight, 2);
            const int64_t o = first + k / (kg_dim(weight, 3) * kg_dim(weight, 2));
            const int64_t to_y = y * entry(stride, 0) - entry(padding, 0) + r * entry(dilation, 0);
            const int64_t to_z = z * entry(stride, 1) - entry(padding, 1) + s * entry(dilation, 1);
            if (to_y < 0 || to_y >= height || to_z < 0 || to_z >= width) continue;
            sum[((image * outs + o) * height + to_y) * width + to_z] +=
                x * kg_get(weight, c * (kg_elements(weight) / channels) + k);
        }
    }
    for (int64_t i = 0; i < n; i++) kg_put(out, i, sum[i]);
    free(sum);
    return 0;
}
