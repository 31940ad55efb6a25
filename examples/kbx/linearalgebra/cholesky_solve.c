/* kgate: task=cholesky_solve */
#include <complex.h>
#include <kgate/kernel.h>
#include <stdlib.h>

static double complex get(const DLTensor *t, int64_t at) {
    double re, im;
    kg_get_complex_at(t, at, &re, &im);
    return re + im * I;
}
static void put(DLTensor *t, int64_t at, double complex x) {
    if (t->dtype.code == kDLComplex) kg_put_complex_at(t, at, creal(x), cimag(x));
    else kg_put_at(t, at, creal(x));
}

/* Where matrix i of out's batch starts in t. */
static int64_t start(const DLTensor *t, const DLTensor *out, int64_t i) {
    int64_t at = 0;
    for (int d = out->ndim - 3, k = t->ndim - 3; d >= 0; d--, k--) {
        if (k >= 0 && t->shape[k] != 1) at += i % out->shape[d] * kg_stride(t, k);
        i /= out->shape[d];
    }
    return at;
}

/* The lower factor, of an upper one its conjugate transpose. */
static void load(const DLTensor *L, int64_t at, bool upper, int64_t n, double complex *l) {
    const int64_t row = kg_stride(L, upper ? -1 : -2), column = kg_stride(L, upper ? -2 : -1);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) {
            const double complex x = get(L, at + r * row + c * column);
            l[r * n + c] = upper ? conj(x) : x;
        }
}

int cholesky_solve(const DLTensor *B, const DLTensor *L, bool upper, DLTensor *out) {
    const int64_t n = kg_dim(L, -1), k = kg_dim(B, -1);
    double complex *l = malloc((size_t)(n * n + n + 1) * sizeof *l), *x = l + n * n;
    for (int64_t i = 0; kg_elements(out) && i < kg_elements(out) / (n * k); i++) {
        const int64_t rhs = start(B, out, i), to = start(out, out, i);
        load(L, start(L, out, i), upper, n, l);
        for (int64_t c = 0; c < k; c++) {
            for (int64_t r = 0; r < n; r++) {
                x[r] = get(B, rhs + r * kg_stride(B, -2) + c * kg_stride(B, -1));
                for (int64_t j = 0; j < r; j++) x[r] -= l[r * n + j] * x[j];
                x[r] /= l[r * n + r];
            }
            for (int64_t r = n - 1; r >= 0; r--) {
                for (int64_t j = r + 1; j < n; j++) x[r] -= conj(l[j * n + r]) * x[j];
                x[r] /= conj(l[r * n + r]);
                put(out, to + r * kg_stride(out, -2) + c * kg_stride(out, -1), x[r]);
            }
        }
    }
    free(l);
    return 0;
}
