/* kgate: task=ldl_factor */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

typedef double complex number;

static number load(const DLTensor *t, int64_t base, int64_t i, int64_t j) {
    double re, im;
    kg_get_complex_at(t, base + i * kg_stride(t, -2) + j * kg_stride(t, -1), &re, &im);
    return re + im * I;
}

static void store(DLTensor *t, int64_t index, number v) {
    const int64_t at = kg_element(t, index);
    if (t->dtype.code == kDLComplex) kg_put_complex_at(t, at, creal(v), cimag(v));
    else kg_put_at(t, at, creal(v));
}

static int64_t matrix_at(const DLTensor *t, int64_t which) {
    int64_t at = 0;
    for (int64_t d = t->ndim - 3; d >= 0; d--) {
        at += which % kg_dim(t, d) * kg_stride(t, d);
        which /= kg_dim(t, d);
    }
    return at;
}

static void exchange(number *x, int64_t i, int64_t j) {
    const number t = x[i];
    x[i] = x[j];
    x[j] = t;
}

/* Rows and columns p and q of what is left from k on. */
static void exchange_both(int64_t n, number *x, int64_t k, int64_t p, int64_t q) {
    for (int64_t j = k; p != q && j < n; j++) exchange(x, p * n + j, q * n + j);
    for (int64_t i = k; p != q && i < n; i++) exchange(x, i * n + p, i * n + q);
}

/* Bunch and Kaufman: the size of the next block, whose last row is to be exchanged with row *p. */
static int choose(int64_t n, const number *x, int64_t k, int64_t *p) {
    const double alpha = (1 + sqrt(17)) / 8, here = cabs(x[k * n + k]);
    int64_t far = k;
    double column = 0, row = 0;
    for (int64_t i = k + 1; i < n; i++)
        if (cabs(x[i * n + k]) > column) column = cabs(x[(far = i) * n + k]);
    for (int64_t j = k; j < n; j++)
        if (j != far) row = fmax(row, cabs(x[far * n + j]));
    *p = k;
    if (here >= alpha * column || here * row >= alpha * column * column) return 1;
    *p = far;
    return cabs(x[far * n + far]) >= alpha * row ? 1 : 2;
}

/* x: both triangles of A; becomes L and D below and on the diagonal. */
static void factor(int64_t n, number *x, number *l, DLTensor *pivots, int64_t first) {
    for (int64_t k = 0, size = 1, p; k < n; k += size) {
        size = choose(n, x, k, &p);
        const int64_t e = k + size - 1;
        exchange_both(n, x, k, p, e);
        for (int64_t i = k; i <= e; i++) kg_put(pivots, first + i, (double)(size == 1 ? p + 1 : -(p + 1)));
        const number a = x[k * n + k], b = x[k * n + e], c = x[e * n + k], d = x[e * n + e];
        for (int64_t i = e + 1; i < n; i++) {
            const number f = x[i * n + k], g = x[i * n + e];
            l[i] = size == 1 ? f / a : (f * d - g * c) / (a * d - b * c);
            l[n + i] = size == 1 ? 0 : (g * a - f * b) / (a * d - b * c);
        }
        for (int64_t i = e + 1; i < n; i++) {
            for (int64_t j = e + 1; j < n; j++) x[i * n + j] -= l[i] * x[k * n + j] + l[n + i] * x[e * n + j];
        }
        for (int64_t i = e + 1; i < n; i++) {
            if (size == 2) x[i * n + e] = l[n + i];
            x[i * n + k] = l[i];
        }
    }
}

int ldl_factor(const DLTensor *A, bool hermitian, DLTensor *LD, DLTensor *pivots) {
    const int64_t n = kg_dim(A, -1);
    int64_t count = 1;
    for (int d = 0; d < A->ndim - 2; d++) count *= kg_dim(A, d);
    number *x = malloc((size_t)(n * n + 2 * n + 1) * sizeof *x);
    for (int64_t b = 0; b < count; b++) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) {
                const number v = load(A, matrix_at(A, b), i, j);
                x[j * n + i] = hermitian ? conj(v) : v;
                x[i * n + j] = hermitian && i == j ? creal(v) : v;
            }
        factor(n, x, x + n * n, pivots, b * n);
        for (int64_t i = 0; i < n * n; i++) store(LD, b * n * n + i, i / n >= i % n ? x[i] : 0);
    }
    free(x);
    return 0;
}
