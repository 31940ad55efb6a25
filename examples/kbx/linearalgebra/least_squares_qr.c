/* kgate: task=least_squares_qr */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* Householder's reflections, one a column, of a (m x width, of which the first n columns become R). */
static void reflect(double complex *a, int64_t m, int64_t n, int64_t width) {
    for (int64_t c = 0; c < n; c++) {
        double square = 0;
        for (int64_t r = c; r < m; r++) square += creal(a[r * width + c] * conj(a[r * width + c]));
        const double complex first = a[c * width + c];
        const double complex norm = -sqrt(square) * (first == 0 ? 1 : first / cabs(first));
        const double complex head = first - norm; /* of the vector v to reflect at; below it lies the column itself */
        const double half = square + cabs(first) * sqrt(square); /* |v|^2 / 2 */
        for (int64_t j = c + 1; j < width; j++) {
            double complex dot = conj(head) * a[c * width + j];
            for (int64_t r = c + 1; r < m; r++) dot += conj(a[r * width + c]) * a[r * width + j];
            a[c * width + j] -= dot / half * head;
            for (int64_t r = c + 1; r < m; r++) a[r * width + j] -= dot / half * a[r * width + c];
        }
        a[c * width + c] = norm;
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

/* Where matrix i of a batch starts. */
static int64_t start(const DLTensor *t, int batch_dims, int64_t i) {
    int64_t at = 0;
    for (int d = batch_dims - 1; d >= 0; d--) {
        at += i % t->shape[d] * kg_stride(t, d);
        i /= t->shape[d];
    }
    return at;
}

int least_squares_qr(const DLTensor *A, const DLTensor *b, const char *mode, DLTensor *out) {
    const bool vector = b->ndim == A->ndim - 1;
    const int batch = A->ndim - 2, row = vector ? -1 : -2;
    const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = vector ? 1 : kg_dim(b, -1), width = n + k;
    const int64_t b_step = vector ? 0 : kg_stride(b, -1), x_step = vector ? 0 : kg_stride(out, -1);
    double complex *a = malloc((size_t)(m * width + 1) * sizeof *a);
    (void)mode; /* which Q there is, which is not asked for */
    for (int64_t i = 0; i < kg_elements(A) / (m * n); i++) {
        const int64_t from = start(A, batch, i), rhs = start(b, batch, i), to = start(out, batch, i);
        for (int64_t r = 0; r < m; r++)
            for (int64_t c = 0; c < width; c++)
                a[r * width + c] = c < n ? get(A, from + r * kg_stride(A, -2) + c * kg_stride(A, -1))
                                         : get(b, rhs + r * kg_stride(b, row) + (c - n) * b_step);
        reflect(a, m, n, width);
        for (int64_t j = n; j < width; j++)
            for (int64_t r = n - 1; r >= 0; r--) {
                for (int64_t c = r + 1; c < n; c++) a[r * width + j] -= a[r * width + c] * a[c * width + j];
                a[r * width + j] /= a[r * width + r];
                put(out, to + r * kg_stride(out, row) + (j - n) * x_step, a[r * width + j]);
            }
    }
    free(a);
    return 0;
}
