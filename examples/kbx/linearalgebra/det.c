/* kgate: task=det */
#include <complex.h>
#include <kgate/kernel.h>
#include <stdlib.h>

static double complex determinant(double complex *a, int64_t n) {
    double complex det = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t p = c;
        for (int64_t r = c + 1; r < n; r++)
            if (cabs(a[r * n + c]) > cabs(a[p * n + c])) p = r;
        for (int64_t j = 0; p != c && j < n; j++) {
            const double complex t = a[c * n + j];
            a[c * n + j] = a[p * n + j];
            a[p * n + j] = t;
        }
        det *= p == c ? a[c * n + c] : -a[c * n + c];
        if (a[c * n + c] == 0) return 0;
        for (int64_t r = c + 1; r < n; r++) {
            const double complex l = a[r * n + c] / a[c * n + c];
            for (int64_t j = c + 1; j < n; j++) a[r * n + j] -= l * a[c * n + j];
        }
    }
    return det;
}

int det(const DLTensor *A, DLTensor *out) {
    const int64_t n = kg_dim(A, -1), matrices = kg_elements(out);
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
