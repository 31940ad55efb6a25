// kgate: task=fused_exp_mean
//
// Mean of exponentials. Each element is added to its group's sum: reduced dimensions do not move the group's number.
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

int fused_exp_mean(const DLTensor *input, const kg_ints *dim, bool keepdim, const char *dtype, DLTensor *out) {
    (void)keepdim, (void)dtype;  // out has the shape and the dtype that they ask for
    const int64_t n = kg_elements(input), m = kg_elements(out);
    double *sum = calloc((size_t)m + 1, sizeof *sum);
    if (!sum) return -1;
    for (int64_t i = 0; i < n; i++) sum[group(input, dim, i)] += exp(kg_get(input, i));
    for (int64_t i = 0; i < m; i++) kg_put(out, i, sum[i] / ((double)n / (double)m));
    free(sum);
    return 0;
}
