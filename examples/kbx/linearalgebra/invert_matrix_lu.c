/* kgate: task=invert_matrix_lu */
#include <complex.h>
#include <kgate/kernel.h>
#include <stdlib.h>

static void eliminate(double complex *a, double complex *x, int64_t n, bool pivot) {
    for (int64_t c = 0; c < n; c++) {
        int64_t p = c;
        for (int64_t r = c + 1; pivot && r < n; r++)
            if (cabs(a[r * n + c]) > cabs(a[p * n + c])) p = r;
        for (int64_t j = 0; p != c && j < 2 * n; j++) {
            double complex *u = j < n ? a + c * n + j : x + c * n + j - n,
                           *v = j < n ? a + p * n + j : x + p * n + j - n;
            const double complex t = *u;
            *u = *v;
            *v = t;
        }
        for (int64_t r = c + 1; r < n; r++) {
            const double complex l = a[r * n + c] / a[c * n + c];
            for (int64_t j = c + 1; j < n; j++) a[r * n + j] -= l * a[c * n + j];
            for (int64_t j = 0; j < n; j++) x[r * n + j] -= l * x[c * n + j];
        }
    }
    for (int64_t r = n - 1; r >= 0; r--)
        for (int64_t j = 0; j < n; j++) {
            for (int64_t c = r + 1; c < n; c++) x[r * n + j] -= a[r * n + c] * x[c * n + j];
            x[r * n + j] /= a[r * n + r];
        }
}

static double complex get(const DLTensor *t, int64_t at) {
    double re, im;
    kg_get_complex_at(t, at, &re, &im);
    return re + im * I;
}
static void put(DLTensor *t, int64_t at, double complex x) {
    if (t->dtype.code == kDLComplex) kg_put_complex_at(t, at, creal(x), cimag(x));
    else kg_put_at(t, at, creal(x));
}

/* Where matrix i of t's batch starts. */
static int64_t start(const DLTensor *t, int64_t i) {
    int64_t at = 0;
    for (int d = t->ndim - 3; d >= 0; d--) {
        at += i % t->shape[d] * kg_stride(t, d);
        i /= t->shape[d];
    }
    return at;
}

int invert_matrix_lu(const DLTensor *A, bool pivot, DLTensor *out) {
    const int64_t n = kg_dim(A, -1);
    double complex *a = malloc((size_t)(2 * n * n + 1) * sizeof *a), *x = a + n * n;
    for (int64_t i = 0; kg_elements(out) && i < kg_elements(out) / (n * n); i++) {
        const int64_t from = start(A, i), to = start(out, i);
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < n; c++) {
                a[r * n + c] = get(A, from + r * kg_stride(A, -2) + c * kg_stride(A, -1));
                x[r * n + c] = r == c;
            }
        eliminate(a, x, n, pivot);
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < n; c++)
                put(out, to + r * kg_stride(out, -2) + c * kg_stride(out, -1), x[r * n + c]);
    }
    free(a);
    return 0;
}
