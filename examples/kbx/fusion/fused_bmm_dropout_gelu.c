/* kgate: task=fused_bmm_dropout_gelu */
#include <kgate/kernel.h>
#include <math.h>

static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x / M_SQRT2);
}

int fused_bmm_dropout_gelu(const DLTensor *input1, const DLTensor *input2, double p, bool training, bool inplace,
                           const char *approximate, int64_t seed, DLTensor *out) {
    (void)inplace;
    const int64_t rows = kg_dim(out, 1), columns = kg_dim(out, 2), n = kg_elements(out);
    const double scale = training ? 1 / (1 - p) : 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t b = i / (rows * columns), r = i / columns % rows, c = i % columns;
        int64_t x = b * kg_stride(input1, 0) + r * kg_stride(input1, 1);
        int64_t y = b * kg_stride(input2, 0) + c * kg_stride(input2, 2);
        double sum = 0;
        for (int64_t k = 0; k < kg_dim(input1, 2); k++, x += kg_stride(input1, 2), y += kg_stride(input2, 1))
            sum += kg_get_at(input1, x) * kg_get_at(input2, y);
        const bool dropped = training && kg_uniform(seed, i) < p;
        kg_put(out, i, dropped ? 0 : gelu(sum * scale, kg_same(approximate, "tanh")));
    }
    return 0;
}
