/* kgate: task=std
 *
 * Wrong: divides by n whatever `correction` says. For long inputs the difference disappears in the tolerance of a
 * sloppy test; for short ones it does not.
 */
#include <kgate/kernel.h>
#include <math.h>

static bool reduced(const DLTensor *t, const kg_ints *dim, int d) {
    if (!dim || dim->n == 0) return true;
    for (int64_t i = 0; i < dim->n; i++)
        if ((dim->v[i] + t->ndim) % t->ndim == d) return true;
    return false;
}

int std(const DLTensor *input, const kg_ints *dim, int64_t correction, bool keepdim, DLTensor *out) {
    (void)keepdim, (void)correction;
    int64_t terms = 1;
    for (int d = 0; d < input->ndim; d++)
        if (reduced(input, dim, d)) terms *= input->shape[d];
    for (int64_t e = 0; e < kg_elements(out); e++) {
        double mean = 0, squares = 0;
        for (int64_t k = 0; k < terms; k++) {
            int64_t at = 0, over = k, rest = e;
            for (int d = input->ndim - 1; d >= 0; d--) {
                int64_t *index = reduced(input, dim, d) ? &over : &rest;
                at += *index % input->shape[d] * kg_stride(input, d);
                *index /= input->shape[d];
            }
            double x = kg_get_at(input, at), before = x - mean;
            mean += before / (double)(k + 1);
            squares += before * (x - mean);
        }
        kg_put(out, e, sqrt(squares / (double)terms));
    }
    return 0;
}
