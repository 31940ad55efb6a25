// kgate: task=fused_add_mean
//
// Mean of input + alpha * other. The terms' shape is both operands' broadcast; each term is added to its group's sum.
#include <kgate/kernel.h>
#include <stdlib.h>

#define MOST 16

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

// A description of the terms: shape only.
static void broadcast(const DLTensor *a, const DLTensor *b, int64_t *shape, DLTensor *terms) {
    terms->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    terms->shape = shape;
    for (int d = terms->ndim - 1, i = a->ndim - 1, k = b->ndim - 1; d >= 0; d--, i--, k--) {
        const int64_t na = i < 0 ? 1 : a->shape[i], nb = k < 0 ? 1 : b->shape[k];
        shape[d] = na == 1 ? nb : na;
    }
}

int fused_add_mean(const DLTensor *input, const DLTensor *other, const kg_ints *dim, double alpha, bool keepdim,
                   const char *dtype, DLTensor *out) {
    (void)keepdim, (void)dtype;  // out has the shape and the dtype that they ask for
    int64_t shape[MOST];
    DLTensor terms = {0};
    broadcast(input, other, shape, &terms);
    const int64_t n = kg_elements(&terms), m = kg_elements(out);
    double *sum = calloc((size_t)m + 1, sizeof *sum);
    if (!sum) return -1;
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get_broadcast(input, &terms, i), y = kg_get_broadcast(other, &terms, i);
        sum[group(&terms, dim, i)] += x + alpha * y;
    }
    for (int64_t i = 0; i < m; i++) kg_put(out, i, sum[i] / ((double)n / (double)m));
    free(sum);
    return 0;
}
