/* kgate: task=cholesky */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static void factor(double complex *a, int64_t n) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c <= r; c++) {
            for (int64_t k = 0; k < c; k++) a[r * n + c] -= a[r * n + k] * conj(a[c * n + k]);
            a[r * n + c] = r == c ? sqrt(creal(a[r * n + c])) : a[r * n + c] / a[c * n + c];
        }
}

int cholesky(const DLTensor *A, bool upper, DLTensor *out) {
    const int64_t n = kg_dim(A, -1);
    double complex *a = malloc((size_t)(n * n + 1) * sizeof *a);
    for (int64_t i = 0; kg_elements(out) && i < kg_elements(out) / (n * n); i++) {
        int64_t from = 0, to = 0, rest = i;
        for (int d = A->ndim - 3; d >= 0; d--) {
            from += rest % A->shape[d] * kg_stride(A, d);
            to += rest % A->shape[d] * kg_stride(out, d);
            rest /= A->shape[d];
        }
        for (int64_t k = 0; k < n * n; k++) {
            double re, im;
            kg_get_complex_at(A, from + k / n * kg_stride(A, -2) + k % n * kg_stride(A, -1), &re, &im);
            a[k] = re + im * I;
        }
        factor(a, n);
        for (int64_t k = 0; k < n * n; k++) {
            const int64_t r = k / n, c = k % n, at = to + r * kg_stride(out, -2) + c * kg_stride(out, -1);
            const double complex x = upper ? (c < r ? 0 : conj(a[c * n + r])) : (c > r ? 0 : a[k]);
            if (out->dtype.code == kDLComplex) kg_put_complex_at(out, at, creal(x), cimag(x));
            else kg_put_at(out, at, creal(x));
        }
    }
    free(a);
    return 0;
}
