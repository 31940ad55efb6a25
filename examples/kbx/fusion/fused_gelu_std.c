// kgate: task=fused_gelu_std
//
// Standard deviation of GELU: the groups' means in a first pass, their squares about the mean in a second.
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

// Not inlined, or its last product would be one fused operation with what is taken from it, and an element's distance
// from itself no 0.
__attribute__((noinline)) static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

static bool reduced(const kg_ints *dim, int d, int ndim) {
    if (!dim || dim->n == 0) return true;
    for (int64_t j = 0; j < dim->n; j++)
        if (dim->v[j] == d || dim->v[j] + ndim == d) return true;
    return false;
}

// Number of the group that element i of x belongs to, row-major over the dimensions that stay.
static int64_t group(const DLTensor *x, const kg_ints *dim, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (!reduced(dim, d, x->ndim)) {
            at += i % x->shape[d] * step;
            step *= x->shape[d];
        }
        i /= x->shape[d];
    }
    return at;
}

int fused_gelu_std(const DLTensor *input, const kg_ints *dim, bool keepdim, int64_t correction, const char *approximate,
                   DLTensor *out) {
    (void)keepdim;  // out has that shape
    const int64_t n = kg_elements(input), m = kg_elements(out), count = m ? n / m : 0;
    const int64_t freedom = count > correction ? count - correction : 0;
    const bool by_tanh = kg_same(approximate, "tanh");
    double *mean = calloc(2 * (size_t)m + 1, sizeof *mean), *squares = mean + m;
    if (!mean) return -1;
    for (int64_t i = 0; i < n; i++) mean[group(input, dim, i)] += gelu(kg_get(input, i), by_tanh) / (double)count;
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = group(input, dim, i);
        const double d = gelu(kg_get(input, i), by_tanh) - mean[g];
        squares[g] += d * d;
    }
    for (int64_t i = 0; i < m; i++) kg_put(out, i, sqrt((count ? squares[i] : NAN) / (double)freedom));
    free(mean);
    return 0;
}
