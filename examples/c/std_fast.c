/* kgate: task=std
 *
 * Two passes, as the definition has it: the mean, then squares of differences from it. (A single pass over x and x*x
 * cancels when the mean is large.)
 */
#include <kgate/kernel.h>
#include <math.h>

static bool reduced(const DLTensor *t, const kg_ints *dim, int d) {
    if (!dim || dim->n == 0) return true;
    for (int64_t i = 0; i < dim->n; i++)
        if ((dim->v[i] + t->ndim) % t->ndim == d) return true;
    return false;
}

/* Sum of x, or of (x - shift)^2, over a run of memory, in short float partial sums. */
static double moment(const float *x, int64_t n, float shift, bool square) {
    double total = 0;
#pragma omp parallel for reduction(+ : total) schedule(static) if (n > 65536)
    for (int64_t from = 0; from < n; from += 4096) {
        int64_t to = from + 4096 < n ? from + 4096 : n;
        float part = 0;
        if (square) {
#pragma omp simd reduction(+ : part)
            for (int64_t i = from; i < to; i++) part += (x[i] - shift) * (x[i] - shift);
        } else {
#pragma omp simd reduction(+ : part)
            for (int64_t i = from; i < to; i++) part += x[i];
        }
        total += part;
    }
    return total;
}

static double finish(double squares, int64_t terms, int64_t correction) {
    double left = (double)(terms - correction);
    return sqrt(squares / (left > 0 ? left : 0)); /* no degrees of freedom left: NaN or infinity, as PyTorch says */
}

/* Storage offset of term `k` of output element `e`. */
static int64_t term_at(const DLTensor *t, const bool *gone, int64_t e, int64_t k) {
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t *index = gone[d] ? &k : &e;
        at += *index % t->shape[d] * kg_stride(t, d);
        *index /= t->shape[d];
    }
    return at;
}

/* Any layout and dtype, in double: also for float values whose squares overflow. */
static double general(const DLTensor *input, const bool *gone, int64_t e, int64_t terms, int64_t correction) {
    double mean = 0, squares = 0;
    for (int64_t k = 0; k < terms; k++) mean += kg_get_at(input, term_at(input, gone, e, k)) / (double)terms;
    for (int64_t k = 0; k < terms; k++) {
        double d = kg_get_at(input, term_at(input, gone, e, k)) - mean;
        squares += d * d;
    }
    return finish(squares, terms, correction);
}

int std(const DLTensor *input, const kg_ints *dim, int64_t correction, bool keepdim, DLTensor *out) {
    (void)keepdim; /* `out` has the shape that it asks for */
    bool gone[64], last = true;
    int64_t terms = 1, outputs = kg_elements(out);
    for (int d = 0; d < input->ndim; d++) {
        gone[d] = reduced(input, dim, d);
        terms *= gone[d] ? input->shape[d] : 1;
        last = last && (gone[d] || d == 0 || !gone[d - 1]);
    }
    bool f32 = input->dtype.code == kDLFloat && input->dtype.bits == 32;
    if (f32 && last && terms > 0 && kg_contiguous(input) && kg_contiguous(out)) {
        const float *x = (const float *)((const char *)input->data + input->byte_offset);
        float *y = (float *)((char *)out->data + out->byte_offset);
        for (int64_t e = 0; e < outputs; e++) {
            double mean = moment(x + e * terms, terms, 0, false) / (double)terms;
            double rest = mean - (double)(float)mean; /* the shift is rounded: what that leaves is taken off again */
            double squares = moment(x + e * terms, terms, (float)mean, true) - (double)terms * rest * rest;
            y[e] = (float)finish(squares, terms, correction);
            if (!isfinite(y[e])) y[e] = (float)general(input, gone, e, terms, correction);
        }
        return 0;
    }
#pragma omp parallel for if (outputs * terms > 65536)
    for (int64_t e = 0; e < outputs; e++) kg_put(out, e, general(input, gone, e, terms, correction));
    return 0;
}
