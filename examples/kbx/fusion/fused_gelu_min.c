// kgate: task=fused_gelu_min
//
// The smallest GELU of everything, or of each line along dim and where it is. The search ends at a NaN, which counts as
// smallest; of equal values the first stays.
#include <kgate/kernel.h>
#include <math.h>

static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

int fused_gelu_min(const DLTensor *input, const char *approximate, const int64_t *dim, bool keepdim, DLTensor *values,
                   DLTensor *indices) {
    (void)keepdim;  // values and indices have that shape
    const bool by_tanh = kg_same(approximate, "tanh");
    const int64_t lines = kg_elements(values), n = dim ? kg_dim(input, *dim) : kg_elements(input);
    for (int64_t i = 0; i < lines; i++) {
        const int64_t from = dim ? kg_line(input, *dim, i) : 0, step = dim ? kg_stride(input, *dim) : 0;
        double least = INFINITY;
        int64_t at = 0;
        for (int64_t k = 0; k < n && !isnan(least); k++) {
            const double y = gelu(dim ? kg_get_at(input, from + k * step) : kg_get(input, k), by_tanh);
            if (isnan(y) || y < least) least = y, at = k;
        }
        kg_put(values, i, least);
        if (dim) kg_put(indices, i, (double)at);
    }
    return 0;
}
