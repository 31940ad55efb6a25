/* kgate: task=fused_conv2d_add */
#include <kgate/kernel.h>

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

static place place_of(int64_t i, int64_t filters, int64_t height, int64_t width) {
    return (place){i / (width * height * filters), i / (width * height) % filters, i / width % height, i % width};
}

int fused_conv2d_add(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, const DLTensor *other,
                     const kg_ints *stride, const kg_ints *padding, const kg_ints *dilation, int64_t groups,
                     double alpha, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const place at = place_of(i, kg_dim(out, -3), kg_dim(out, -2), kg_dim(out, -1));
        const double y = convolved(input, weight, bias, stride, padding, dilation, groups, at);
        kg_put(out, i, other ? y + alpha * kg_get_broadcast(other, out, i) : y);
    }
    return 0;
}
