/* kgate: task=qr */
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

/* rows k.. of x (columns from..cols) become (1 - 2 v v^H) x, where v has length 1. */
static void reflect(int64_t rows, int64_t cols, int64_t k, int64_t from, const number *v, number *x) {
    for (int64_t j = from; j < cols; j++) {
        number dot = 0;
        for (int64_t i = k; i < rows; i++) dot += conj(v[i]) * x[i * cols + j];
        for (int64_t i = k; i < rows; i++) x[i * cols + j] -= 2 * dot * v[i];
    }
}

/* r: A, m x n, becomes R; q: m x m. v: m x m, a reflection's vector in each row. */
static void householder(int64_t m, int64_t n, number *r, number *q, number *v) {
    const int64_t k = m < n ? m : n;
    for (int64_t j = 0; j < k; j++) {
        number *u = v + j * m;
        double norm = 0, length = 0;
        for (int64_t i = j; i < m; i++) norm = hypot(norm, cabs(u[i] = r[i * n + j]));
        u[j] += cabs(u[j]) > 0 ? u[j] / cabs(u[j]) * norm : norm;
        for (int64_t i = j; i < m; i++) length = hypot(length, cabs(u[i]));
        for (int64_t i = j; i < m; i++) u[i] = length > 0 ? u[i] / length : 0;
        reflect(m, n, j, j, u, r);
        for (int64_t i = j + 1; i < m; i++) r[i * n + j] = 0;
    }
    for (int64_t i = 0; i < m * m; i++) q[i] = i % (m + 1) == 0;
    for (int64_t j = k - 1; j >= 0; j--) reflect(m, m, j, j, v + j * m, q);
    for (int64_t j = 0; j < k; j++) { /* a real diagonal */
        const number d = r[j * n + j], phase = cabs(d) > 0 ? d / cabs(d) : 1;
        for (int64_t l = j; l < n; l++) r[j * n + l] *= conj(phase);
        r[j * n + j] = cabs(d);
        for (int64_t i = 0; i < m; i++) q[i * m + j] *= phase;
    }
}

int qr(const DLTensor *A, const char *mode, DLTensor *Q, DLTensor *R) {
    const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = kg_dim(R, -2);
    int64_t count = 1;
    for (int d = 0; d < A->ndim - 2; d++) count *= kg_dim(A, d);
    number *r = malloc((size_t)(m * n + 2 * m * m + 1) * sizeof *r), *q = r + m * n, *v = q + m * m;
    for (int64_t b = 0; b < count; b++) {
        for (int64_t i = 0; i < m * n; i++) r[i] = load(A, matrix_at(A, b), i / n, i % n);
        householder(m, n, r, q, v);
        for (int64_t i = 0; i < k * n; i++) store(R, b * k * n + i, r[i]);
        for (int64_t i = 0; !kg_same(mode, "r") && i < m * k; i++) store(Q, b * m * k + i, q[i / k * m + i % k]);
    }
    free(r);
    return 0;
}
