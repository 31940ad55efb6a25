// Pointwise Kullback-Leibler divergence in double: target (log target - input), or exp(target) (target - input).
#include <kgate/kernel.h>
#include <math.h>

// Elements of the shape that the two broadcast to.
static int64_t broadcast_elements(const DLTensor *a, const DLTensor *b) {
    int64_t n = 1;
    for (int d = 1; d <= a->ndim || d <= b->ndim; d++) {
        const int64_t x = d <= a->ndim ? kg_dim(a, -d) : 1, y = d <= b->ndim ? kg_dim(b, -d) : 1;
        n *= x == 1 ? y : x;
    }
    return n;
}

// Storage offsets of pair k.
static void locate(const DLTensor *a, const DLTensor *b, int64_t k, int64_t *at_a, int64_t *at_b) {
    *at_a = *at_b = 0;
    for (int d = 1; d <= a->ndim || d <= b->ndim; d++) {
        const int64_t x = d <= a->ndim ? kg_dim(a, -d) : 1, y = d <= b->ndim ? kg_dim(b, -d) : 1;
        const int64_t n = x == 1 ? y : x;
        if (x != 1) *at_a += k % n * kg_stride(a, -d);
        if (y != 1) *at_b += k % n * kg_stride(b, -d);
        k /= n;
    }
}

int kl_div(const DLTensor *input, const DLTensor *target, const char *reduction, bool log_target, DLTensor *out) {
    const int64_t n = broadcast_elements(input, target);
    const bool none = kg_same(reduction, "none");
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t at_x, at_y;
        locate(input, target, k, &at_x, &at_y);
        const double x = kg_get_at(input, at_x), y = kg_get_at(target, at_y);
        const double own = y == 0 ? 0 : y * log(y);
        const double v = log_target ? exp(y) * (y - x) : own - y * x;
        if (none) kg_put(out, k, v);
        sum += v;
    }
    if (kg_same(reduction, "mean")) sum /= (double)n;
    if (kg_same(reduction, "batchmean")) sum /= (double)kg_dim(input, 0);
    if (!none) kg_put(out, 0, sum);
    return 0;
}
