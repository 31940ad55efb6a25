/* kgate: task=solve_symmetric_ldl */
#include <complex.h>
#include <kgate/kernel.h>
#include <stdlib.h>

static void eliminate(double complex *a, double complex *x, int64_t n, int64_t k) {
    for (int64_t c = 0; c < n; c++) {
        int64_t p = c;
        for (int64_t r = c + 1; r < n; r++)
            if (cabs(a[r * n + c]) > cabs(a[p * n + c])) p = r;
        for (int64_t j = 0; p != c && j < n + k; j++) {
            double complex *u = j < n ? a + c * n + j : x + c * k + j - n,
                           *v = j < n ? a + p * n + j : x + p * k + j - n;
            const double complex t = *u;
            *u = *v;
            *v = t;
        }
        for (int64_t r = c + 1; r < n; r++) {
            const double complex l = a[r * n + c] / a[c * n + c];
            for (int64_t j = c + 1; j < n; j++) a[r * n + j] -= l * a[c * n + j];
            for (int64_t j = 0; j < k; j++) x[r * k + j] -= l * x[c * k + j];
        }
    }
    for (int64_t r = n - 1; r >= 0; r--)
        for (int64_t j = 0; j < k; j++) {
            for (int64_t c = r + 1; c < n; c++) x[r * k + j] -= a[r * n + c] * x[c * k + j];
            x[r * k + j] /= a[r * n + r];
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

/* Where matrix i of out's batch starts in t, whose last `own` dimensions are not batch dimensions. */
static int64_t start(const DLTensor *t, const DLTensor *out, int own_t, int own, int64_t i) {
    int64_t at = 0;
    for (int d = out->ndim - own - 1, k = t->ndim - own_t - 1; d >= 0; d--, k--) {
        if (k >= 0 && t->shape[k] != 1) at += i % out->shape[d] * kg_stride(t, k);
        i /= out->shape[d];
    }
    return at;
}

static bool is_vector(const DLTensor *A, const DLTensor *B) {
    if (B->ndim == 1) return true;
    if (B->ndim != A->ndim - 1) return false;
    for (int d = 0; d < B->ndim; d++)
        if (A->shape[d] != B->shape[d]) return false;
    return true;
}

int solve_symmetric_ldl(const DLTensor *A, const DLTensor *b, bool hermitian, DLTensor *out) {
    const bool vector = is_vector(A, b);
    const int own = vector ? 1 : 2;
    const int64_t n = kg_dim(A, -1), k = vector ? 1 : kg_dim(b, -1), step = vector ? 0 : kg_stride(b, -1);
    const int64_t out_step = vector ? 0 : kg_stride(out, -1);
    double complex *a = malloc((size_t)(n * (n + k) + 1) * sizeof *a), *x = a + n * n;
    for (int64_t i = 0; kg_elements(out) && i < kg_elements(out) / (n * k); i++) {
        const int64_t from = start(A, out, 2, own, i), rhs = start(b, out, own, own, i),
                      to = start(out, out, own, own, i);
        for (int64_t r = 0; r < n; r++) {
            for (int64_t c = 0; c <= r; c++) {
                const double complex y = get(A, from + r * kg_stride(A, -2) + c * kg_stride(A, -1));
                a[r * n + c] = y;
                a[c * n + r] = hermitian ? conj(y) : y;
            }
            for (int64_t j = 0; j < k; j++) x[r * k + j] = get(b, rhs + r * kg_stride(b, -own) + j * step);
        }
        eliminate(a, x, n, k);
        for (int64_t r = 0; r < n; r++)
            for (int64_t j = 0; j < k; j++) put(out, to + r * kg_stride(out, -own) + j * out_step, x[r * k + j]);
    }
    free(a);
    return 0;
}
