/* kgate: task=gap22/logsumexp
 *
 * The largest is taken out of the exponentials and added to the logarithm again, unless it is infinite itself.
 */
#include <kgate/kernel.h>
#include <math.h>

/* The elements reduced into output i: their number, and the storage offset of each. */
static int reduced(const DLTensor *t, const kg_ints *dim, int d) {
    for (int64_t k = 0; k < dim->n; k++)
        if (dim->v[k] == d || dim->v[k] + t->ndim == d) return 1;
    return 0;
}

static int64_t count(const DLTensor *t, const kg_ints *dim) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= reduced(t, dim, d) ? kg_dim(t, d) : 1;
    return n;
}

static int64_t element(const DLTensor *t, const kg_ints *dim, int64_t i, int64_t k) {
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t *number = reduced(t, dim, d) ? &k : &i;
        at += *number % kg_dim(t, d) * kg_stride(t, d);
        *number /= kg_dim(t, d);
    }
    return at;
}

int logsumexp(const DLTensor *input, const kg_ints *dim, bool keepdim, DLTensor *out) {
    (void)keepdim; /* the elements are the same */
    int64_t n = count(input, dim);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; k++) {
            double x = kg_get_at(input, element(input, dim, i, k));
            if (x > largest || isnan(x)) largest = isnan(largest) ? largest : x;
        }
        for (int64_t k = 0; k < n; k++) sum += exp(kg_get_at(input, element(input, dim, i, k)) - largest);
        kg_put(out, i, isfinite(largest) ? largest + log(sum) : largest);
    }
    return 0;
}
