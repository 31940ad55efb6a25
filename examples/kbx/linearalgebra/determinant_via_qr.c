/* kgate: task=determinant_via_qr */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* Householder's reflections, each of determinant -1; their phases make the diagonal of R, which need not be real. */
static double complex determinant(double complex *a, int64_t n) {
    double complex det = 1;
    for (int64_t c = 0; c < n; c++) {
        double norm = 0;
        for (int64_t r = c; r < n; r++) norm += creal(a[r * n + c] * conj(a[r * n + c]));
        norm = sqrt(norm);
        if (norm == 0) return 0;
        const double size = cabs(a[c * n + c]);
        const double complex phase = size > 0 ? a[c * n + c] / size : 1;
        det *= phase * norm;
        a[c * n + c] += phase * norm;
        double square = 0;
        for (int64_t r = c; r < n; r++) square += creal(a[r * n + c] * conj(a[r * n + c]));
        for (int64_t j = c + 1; j < n; j++) {
            double complex dot = 0;
            for (int64_t r = c; r < n; r++) dot += conj(a[r * n + c]) * a[r * n + j];
            for (int64_t r = c; r < n; r++) a[r * n + j] -= 2 * dot / square * a[r * n + c];
        }
    }
    return det;
}

int determinant_via_qr(const DLTensor *A, const char *mode, DLTensor *out) {
    const int64_t n = kg_dim(A, -1), matrices = kg_elements(out);
    (void)mode;
    double complex *a = malloc((size_t)(n * n + 1) * sizeof *a);
    for (int64_t i = 0; i < matrices; i++) {
        int64_t from = 0, rest = i;
        for (int d = A->ndim - 3; d >= 0; d--) {
            from += rest % A->shape[d] * kg_stride(A, d);
            rest /= A->shape[d];
        }
        for (int64_t k = 0; k < n * n; k++) {
            double re, im;
            kg_get_complex_at(A, from + k / n * kg_stride(A, -2) + k % n * kg_stride(A, -1), &re, &im);
            a[k] = re + im * I;
        }
        const double complex d = determinant(a, n);
        if (out->dtype.code == kDLComplex) kg_put_complex_at(out, kg_element(out, i), creal(d), cimag(d));
        else kg_put(out, i, creal(d));
    }
    free(a);
    return 0;
}
