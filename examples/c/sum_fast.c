/* kgate: task=sum
 *
 * All cores and vectors over dense float32, in many short partial sums: that is also what keeps the error small.
 * Anything else goes through one walk that handles every shape, stride, dtype and set of dimensions.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdbool.h>

static bool reduced(const DLTensor *t, const kg_ints *dim, int d) {
    if (!dim || dim->n == 0) return true;
    for (int64_t i = 0; i < dim->n; i++)
        if ((dim->v[i] + t->ndim) % t->ndim == d) return true;
    return false;
}

static float add_up(const float *x, int64_t n) {
    double total = 0;
#pragma omp parallel for reduction(+ : total) schedule(static) if (n > 65536)
    for (int64_t from = 0; from < n; from += 4096) {
        int64_t to = from + 4096 < n ? from + 4096 : n;
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t i = from; i < to; i++) part += x[i];
        total += part;
    }
    return (float)total;
}

/* Storage offset of term `k` of output element `e`: the first counts over reduced dimensions, the second over the rest.
 */
static int64_t term_at(const DLTensor *t, const bool *gone, int64_t e, int64_t k) {
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t *index = gone[d] ? &k : &e;
        at += *index % t->shape[d] * kg_stride(t, d);
        *index /= t->shape[d];
    }
    return at;
}

int sum(const DLTensor *input, const kg_ints *dim, bool keepdim, const char *dtype, DLTensor *out) {
    (void)keepdim, (void)dtype; /* `out` has the shape and the type that they ask for */
    bool gone[64];
    int64_t terms = 1, outputs = kg_elements(out);
    bool last = true; /* the reduced dimensions are the last ones: each sum reads one run of memory */
    for (int d = 0; d < input->ndim; d++) {
        gone[d] = reduced(input, dim, d);
        terms *= gone[d] ? input->shape[d] : 1;
        last = last && (gone[d] || d == 0 || !gone[d - 1]);
    }
    bool f32 = input->dtype.code == kDLFloat && input->dtype.bits == 32 && out->dtype.code == kDLFloat;
    if (f32 && out->dtype.bits == 32 && last && kg_contiguous(input) && kg_contiguous(out)) {
        const float *x = (const float *)((const char *)input->data + input->byte_offset);
        float *y = (float *)((char *)out->data + out->byte_offset);
        for (int64_t e = 0; e < outputs; e++) y[e] = add_up(x + e * terms, terms);
        return 0;
    }
    bool whole = out->dtype.code == kDLInt;
#pragma omp parallel for if (outputs * terms > 65536)
    for (int64_t e = 0; e < outputs; e++) {
        double total = 0;
        int64_t count = 0; /* integers add up as integers: double holds 53 bits only */
        for (int64_t k = 0; k < terms; k++) {
            double x = kg_get_at(input, term_at(input, gone, e, k));
            if (whole) count += (int64_t)x;
            else total += x;
        }
        kg_put(out, e, whole ? (double)count : total);
    }
    return 0;
}
