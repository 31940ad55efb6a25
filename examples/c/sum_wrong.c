/* kgate: task=sum
 *
 * Wrong: the sum is kept in the input's half precision. A long sum of float16 stops growing at 2048, where adding 1
 * rounds back. (float32 inputs are summed in float32, one after the other, and pass.)
 */
#include <kgate/kernel.h>
#include <math.h>

static bool reduced(const DLTensor *t, const kg_ints *dim, int d) {
    if (!dim || dim->n == 0) return true;
    for (int64_t i = 0; i < dim->n; i++)
        if ((dim->v[i] + t->ndim) % t->ndim == d) return true;
    return false;
}

int sum(const DLTensor *input, const kg_ints *dim, bool keepdim, const char *dtype, DLTensor *out) {
    (void)keepdim, (void)dtype;
    bool whole = out->dtype.code == kDLInt; /* then each element is made one */
    int64_t terms = 1;
    for (int d = 0; d < input->ndim; d++)
        if (reduced(input, dim, d)) terms *= input->shape[d];
    for (int64_t e = 0; e < kg_elements(out); e++) {
        double total = 0;
        for (int64_t k = 0; k < terms; k++) {
            int64_t at = 0, over = k, rest = e;
            for (int d = input->ndim - 1; d >= 0; d--) {
                int64_t *index = reduced(input, dim, d) ? &over : &rest;
                at += *index % input->shape[d] * kg_stride(input, d);
                *index /= input->shape[d];
            }
            double x = kg_get_at(input, at);
            kg_put(out, e, total + (whole ? trunc(x) : x));
            total = kg_get(out, e);
        }
        if (terms == 0) kg_put(out, e, 0);
    }
    return 0;
}
