/* kgate: task=min_gelu */
#include <kgate/kernel.h>
#include <math.h>

static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

int min_gelu(const DLTensor *input, const int64_t *dim, bool keepdim, const char *approximate, DLTensor *out) {
    (void)keepdim; /* out has that shape already */
    const bool by_tanh = kg_same(approximate, "tanh");
    const int64_t terms = dim ? kg_dim(input, *dim) : kg_elements(input);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        double least = INFINITY;
        for (int64_t k = 0; k < terms && least == least; k++) { /* NaN ends the search */
            const int64_t at = dim ? kg_line(input, *dim, i) + k * kg_stride(input, *dim) : kg_element(input, k);
            const double y = gelu(kg_get_at(input, at), by_tanh);
            if (!(y >= least)) least = y;
        }
        kg_put(out, i, least);
    }
    return 0;
}
