/* kgate: task=std */
/* kgate: entry=std_kernel */
#include <kgate/kernel.h>
#include <math.h>

static bool reduced(const DLTensor *t, const kg_ints *dim, int d) {
    if (!dim || dim->n == 0) return true;
    for (int64_t i = 0; i < dim->n; i++)
        if (dim->v[i] == d || dim->v[i] + t->ndim == d) return true;
    return false;
}

/* Storage offset of term `term` of the sum behind output `index`. */
static int64_t locate(const DLTensor *t, const kg_ints *dim, int64_t index, int64_t term) {
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t *rest = reduced(t, dim, d) ? &term : &index;
        at += *rest % t->shape[d] * kg_stride(t, d);
        *rest /= t->shape[d];
    }
    return at;
}

/* Two passes: the mean, then the squares about it. */
static double squares_about_mean(const DLTensor *t, const kg_ints *dim, int64_t index, int64_t terms) {
    double mean = 0, squares = 0;
    for (int64_t k = 0; k < terms; k++) mean += kg_get_at(t, locate(t, dim, index, k)) / (double)terms;
    for (int64_t k = 0; k < terms; k++) {
        const double d = kg_get_at(t, locate(t, dim, index, k)) - mean;
        squares += d * d;
    }
    return squares;
}

int std_kernel(const DLTensor *input, const kg_ints *dim, int64_t correction, bool keepdim, DLTensor *out) {
    (void)keepdim; /* out has that shape already */
    int64_t terms = 1;
    for (int d = 0; d < input->ndim; d++)
        if (reduced(input, dim, d)) terms *= input->shape[d];
    const double freedom = fmax(0, (double)(terms - correction));
    for (int64_t i = 0; i < kg_elements(out); i++)
        kg_put(out, i, terms ? sqrt(squares_about_mean(input, dim, i, terms) / freedom) : NAN);
    return 0;
}
