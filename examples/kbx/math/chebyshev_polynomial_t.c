// T_n by its recurrence, T_(k+1) = 2 x T_k - T_(k-1).
#include <kgate/kernel.h>

static double chebyshev(double x, int64_t n) {
    double before = 1, t = x;
    if (n <= 0) return n < 0 ? 0 : 1;
    for (int64_t k = 1; k < n; k++) {
        const double next = 2 * x * t - before;
        before = t;
        t = next;
    }
    return t;
}

int chebyshev_polynomial_t(const DLTensor *input, const DLTensor *n, DLTensor *out) {
    const int64_t elements = kg_elements(out);
    for (int64_t i = 0; i < elements; i++)
        kg_put(out, i, chebyshev(kg_get_broadcast(input, out, i), (int64_t)kg_get_broadcast(n, out, i)));
    return 0;
}
