// kgate: task=fused_sum_std
//
// Sums in double, then their deviation in two passes: first the mean, then the squares about it.
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

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

static double deviation(const double *y, int64_t n, int64_t correction) {
    double mean = 0, squares = 0;
    for (int64_t k = 0; k < n; k++) mean += y[k] / (double)n;
    for (int64_t k = 0; k < n; k++) squares += (y[k] - mean) * (y[k] - mean);
    return sqrt((n ? squares : NAN) / (double)(n > correction ? n - correction : 0));
}

int fused_sum_std(const DLTensor *input, const kg_ints *dim, bool keepdim, const char *dtype, int64_t correction,
                  DLTensor *out) {
    (void)keepdim, (void)dtype;  // one number, in out's dtype
    const int64_t n = kg_elements(input);
    int64_t m = 1;
    for (int d = 0; d < input->ndim; d++) m *= reduced(dim, d, input->ndim) ? 1 : input->shape[d];
    double *sum = calloc((size_t)m + 1, sizeof *sum);
    if (!sum) return -1;
    for (int64_t i = 0; i < n; i++) sum[group(input, dim, i)] += kg_get(input, i);
    kg_put(out, 0, deviation(sum, m, correction));
    free(sum);
    return 0;
}
