/* kgate: task=sum
 *
 * A double holds the integers' sums too, up to 2^53.
 */
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

int sum(const DLTensor *input, const kg_ints *dim, bool keepdim, const char *dtype, DLTensor *out) {
    (void)keepdim, (void)dtype;             /* out has that shape and dtype already */
    bool whole = out->dtype.code == kDLInt; /* then each element is made one */
    int64_t terms = 1;
    for (int d = 0; d < input->ndim; d++)
        if (reduced(input, dim, d)) terms *= input->shape[d];
    for (int64_t i = 0; i < kg_elements(out); i++) {
        double total = 0;
        for (int64_t k = 0; k < terms; k++) {
            double x = kg_get_at(input, locate(input, dim, i, k));
            total += whole ? trunc(x) : x;
        }
        kg_put(out, i, total);
    }
    return 0;
}
