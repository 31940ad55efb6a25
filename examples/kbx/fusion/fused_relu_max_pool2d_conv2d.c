/* kgate: task=fused_relu_max_pool2d_conv2d */
#include <kgate/kernel.h>
#include <math.h>

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

static int64_t size_of(const DLTensor *input, const DLTensor *weight, const kg_ints *stride, const kg_ints *padding,
                       const kg_ints *dilation, int d) {
    const int64_t reach = of(dilation, d) * (kg_dim(weight, 2 + d) - 1) + 1;
    return (kg_dim(input, d - 2) + 2 * of(padding, d) - reach) / of(stride, d) + 1;
}

int fused_relu_max_pool2d_conv2d(const DLTensor *input, const DLTensor *weight, const DLTensor *bias,
                                 const kg_ints *stride, const kg_ints *padding, const kg_ints *dilation, int64_t groups,
                                 const kg_ints *pool_kernel_size, const kg_ints *pool_stride,
                                 const kg_ints *pool_padding, const kg_ints *pool_dilation, bool pool_ceil_mode,
                                 bool inplace, DLTensor *out) {
    const int64_t height = size_of(input, weight, stride, padding, dilation, 0);
    const int64_t width = size_of(input, weight, stride, padding, dilation, 1), filters = kg_dim(weight, 0);
    if (!pool_stride) pool_stride = pool_kernel_size;
    (void)inplace, (void)pool_ceil_mode;
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t v = i % kg_dim(out, -1), u = i / kg_dim(out, -1) % kg_dim(out, -2);
        const int64_t plane = i / (kg_dim(out, -1) * kg_dim(out, -2));
        double most = -INFINITY;
        for (int64_t k = 0; k < of(pool_kernel_size, 0) * of(pool_kernel_size, 1); k++) {
            const int64_t r = k / of(pool_kernel_size, 1), s = k % of(pool_kernel_size, 1);
            const int64_t p = u * of(pool_stride, 0) - of(pool_padding, 0) + r * of(pool_dilation, 0);
            const int64_t q = v * of(pool_stride, 1) - of(pool_padding, 1) + s * of(pool_dilation, 1);
            if (p < 0 || p >= height || q < 0 || q >= width) continue;
            const place at = {plane / filters, plane % filters, p, q};
            const double y = convolved(input, weight, bias, stride, padding, dilation, groups, at);
            if (y > most || isnan(y)) most = y;
            if (isnan(most)) break;
        }
        kg_put(out, i, most < 0 ? 0 : most);
    }
    return 0;
}
