/* kgate: task=smooth_l1_loss */
#include <kgate/kernel.h>
#include <math.h>

/* Elements of the shape that the two broadcast to. */
static int64_t broadcast_elements(const DLTensor *a, const DLTensor *b) {
    int64_t n = 1;
    for (int d = 1; d <= a->ndim || d <= b->ndim; d++) {
        const int64_t x = d <= a->ndim ? kg_dim(a, -d) : 1, y = d <= b->ndim ? kg_dim(b, -d) : 1;
        n *= x == 1 ? y : x;
    }
    return n;
}

/* Storage offsets of pair k. */
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

static double smooth(double d, double beta) { return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta; }

int smooth_l1_loss(const DLTensor *input, const DLTensor *target, double beta, const char *reduction, DLTensor *out) {
    const int64_t n = broadcast_elements(input, target);
    const bool each = kg_same(reduction, "none");
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t x, y;
        locate(input, target, k, &x, &y);
        const double loss = smooth(fabs(kg_get_at(input, x) - kg_get_at(target, y)), beta);
        if (each) kg_put(out, k, loss);
        sum += loss;
    }
    if (!each) kg_put(out, 0, kg_same(reduction, "mean") ? sum / (double)n : sum);
    return 0;
}
