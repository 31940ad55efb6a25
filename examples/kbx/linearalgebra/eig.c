/* kgate: task=eig */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

#define EPSILON_64 2e-16

typedef double complex number;

static number load(const DLTensor *t, int64_t base, int64_t i, int64_t j) {
    double re, im;
    kg_get_complex_at(t, base + i * kg_stride(t, -2) + j * kg_stride(t, -1), &re, &im);
    return re + im * I;
}

static int64_t matrix_at(const DLTensor *t, int64_t which) {
    int64_t at = 0;
    for (int64_t d = t->ndim - 3; d >= 0; d--) {
        at += which % kg_dim(t, d) * kg_stride(t, d);
        which /= kg_dim(t, d);
    }
    return at;
}

/* The eigenvalue of t's last 2 x 2 block, of the leading m x m, that is nearer to its last element. */
static number shift(int64_t n, int64_t m, const number *t) {
    const number a = t[(m - 2) * n + m - 2], b = t[(m - 2) * n + m - 1], c = t[(m - 1) * n + m - 2];
    const number d = t[(m - 1) * n + m - 1], half = (a - d) / 2, root = csqrt(half * half + b * c);
    return cabs(half - root) < cabs(half + root) ? d + half - root : d + half + root;
}

/* One step of the QR algorithm on the leading m x m of t: t - s = Q R becomes R Q, and q becomes q Q. */
static void step(int64_t n, int64_t m, number s, number *t, number *q, number *v) {
    for (int64_t i = 0; i < m; i++) t[i * n + i] -= s;
    for (int64_t k = 0; k < m; k++) { /* reflections that make it triangular: vectors in v's rows */
        number *u = v + k * n;
        double norm = 0, length = 0;
        for (int64_t i = k; i < m; i++) norm = hypot(norm, cabs(u[i] = t[i * n + k]));
        u[k] += cabs(u[k]) > 0 ? u[k] / cabs(u[k]) * norm : norm;
        for (int64_t i = k; i < m; i++) length = hypot(length, cabs(u[i]));
        for (int64_t i = k; i < m; i++) u[i] = length > 0 ? u[i] / length : 0;
        for (int64_t j = k; j < n; j++) {
            number dot = 0;
            for (int64_t i = k; i < m; i++) dot += conj(u[i]) * t[i * n + j];
            for (int64_t i = k; i < m; i++) t[i * n + j] -= 2 * dot * u[i];
        }
    }
    for (int64_t k = 0; k < m; k++)
        for (int64_t i = 0; i < m + n; i++) { /* rows of t, then of q */
            number *row = i < m ? t + i * n : q + (i - m) * n, *u = v + k * n, dot = 0;
            for (int64_t j = k; j < m; j++) dot += row[j] * u[j];
            for (int64_t j = k; j < m; j++) row[j] -= 2 * dot * conj(u[j]);
        }
    for (int64_t i = 0; i < m; i++) t[i * n + i] += s;
}

/* t: A, becomes upper triangular, and A = q t q^H. */
static void schur(int64_t n, number *t, number *q, number *v) {
    double norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = hypot(norm, cabs(t[i]));
    for (int64_t i = 0; i < n * n; i++) q[i] = i % (n + 1) == 0;
    for (int64_t m = n, tries = 0; m > 1;) {
        double left = 0;
        for (int64_t j = 0; j < m - 1; j++) left = hypot(left, cabs(t[(m - 1) * n + j]));
        if (left <= EPSILON_64 * norm || ++tries > 300) {
            for (int64_t j = 0; j < m - 1; j++) t[(m - 1) * n + j] = 0;
            m--;
            tries = 0;
        } else {
            step(n, m, tries % 10 ? shift(n, m, t) : t[(m - 1) * n + m - 1] + left * I, t, q, v);
        }
    }
}

/* Column j of x: the eigenvector of t for its element j; of q t q^H it is q x. */
static void vector(int64_t n, int64_t j, double tiny, const number *t, number *x) {
    for (int64_t i = n - 1; i >= 0; i--) {
        number sum = 0, gap = t[j * n + j] - t[i * n + i];
        for (int64_t l = i + 1; l <= j; l++) sum += t[i * n + l] * x[l];
        if (cabs(gap) < tiny) gap = tiny;
        x[i] = i > j ? 0 : i == j ? 1 : sum / gap;
    }
}

int eig(const DLTensor *A, DLTensor *eigenvalues, DLTensor *eigenvectors) {
    const int64_t n = kg_dim(A, -1);
    int64_t count = 1;
    for (int d = 0; d < A->ndim - 2; d++) count *= kg_dim(A, d);
    number *t = malloc((size_t)(3 * n * n + 2 * n + 1) * sizeof *t), *q = t + n * n, *v = q + n * n, *x = v + n * n;
    for (int64_t b = 0; b < count; b++) {
        double norm = 1e-300;
        for (int64_t i = 0; i < n * n; i++) t[i] = load(A, matrix_at(A, b), i / n, i % n);
        for (int64_t i = 0; i < n * n; i++) norm = hypot(norm, cabs(t[i]));
        schur(n, t, q, v);
        for (int64_t j = 0; j < n; j++) {
            double length = 0;
            number *y = x + n;
            vector(n, j, EPSILON_64 * norm, t, x);
            for (int64_t i = 0; i < n; i++) {
                y[i] = 0;
                for (int64_t l = 0; l <= j; l++) y[i] += q[i * n + l] * x[l];
                length = hypot(length, cabs(y[i]));
            }
            kg_put_complex_at(eigenvalues, b * n + j, creal(t[j * n + j]), cimag(t[j * n + j]));
            for (int64_t i = 0; i < n; i++)
                kg_put_complex_at(eigenvectors, (b * n + i) * n + j, creal(y[i] / length), cimag(y[i] / length));
        }
    }
    free(t);
    return 0;
}
