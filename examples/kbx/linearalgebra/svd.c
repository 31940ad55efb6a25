/* kgate: task=svd */
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

static number dot(int64_t n, const number *a, const number *b) {
    number sum = 0;
    for (int64_t i = 0; i < n; i++) sum += conj(a[i]) * b[i];
    return sum;
}

static void rotate(int64_t n, number *a, number *b, double c, double s, number phase) {
    for (int64_t i = 0; i < n; i++) {
        const number x = a[i], y = b[i] * conj(phase);
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

/* w: n vectors of length m >= n, one after the other, become U's; v: n of length n, Vh's conjugate rows. Hestenes. */
static void jacobi(int64_t m, int64_t n, number *w, number *v) {
    int turned = 1;
    for (int64_t i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 40 && turned; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                number *a = w + p * m, *b = w + q * m;
                const number gamma = dot(m, a, b);
                const double alpha = creal(dot(m, a, a)), beta = creal(dot(m, b, b)), g = cabs(gamma);
                if (g <= EPSILON_64 * sqrt(alpha) * sqrt(beta)) continue;
                const double zeta = (beta - alpha) / (2 * g), t = 1 / (fabs(zeta) + hypot(1, zeta));
                const double c = 1 / sqrt(1 + t * t), s = zeta < 0 ? -c * t : c * t;
                rotate(m, a, b, c, s, gamma / g);
                rotate(n, v + p * n, v + q * n, c, s, gamma / g);
                turned = 1;
            }
    }
}

/* w[j] becomes a vector of length 1 that is orthogonal to w[0] to w[j - 1]. */
static void complete(int64_t m, int64_t j, number *w) {
    number *x = w + j * m;
    double length = 0;
    for (int64_t unit = 0; length < 0.5 / sqrt((double)m); unit++) {
        for (int64_t i = 0; i < m; i++) x[i] = i == (j + unit) % m;
        for (int64_t l = 0; l < 2 * j; l++) {
            const number r = dot(m, w + l % j * m, x);
            for (int64_t i = 0; i < m; i++) x[i] -= r * w[l % j * m + i];
        }
        length = sqrt(creal(dot(m, x, x)));
    }
    for (int64_t i = 0; i < m; i++) x[i] /= length;
}

/* Descending lengths into s, vectors of length 1 in w, up to `all` of them. */
static void finish(int64_t m, int64_t n, int64_t all, number *w, number *v, double *s) {
    for (int64_t j = 0; j < n; j++) s[j] = sqrt(creal(dot(m, w + j * m, w + j * m)));
    for (int64_t j = 0; j < n; j++) {
        int64_t best = j;
        for (int64_t k = j; k < n; k++) best = s[k] > s[best] ? k : best;
        const double t = s[j];
        s[j] = s[best];
        s[best] = t;
        if (best != j) rotate(m, w + j * m, w + best * m, 0, 1, 1);
        if (best != j) rotate(n, v + j * n, v + best * n, 0, 1, 1);
    }
    for (int64_t j = 0; j < all; j++) {
        if (j < n && s[j] <= 4 * EPSILON_64 * s[0]) s[j] = 0;
        if (j >= n || s[j] == 0) complete(m, j, w);
        else
            for (int64_t i = 0; i < m; i++) w[j * m + i] /= s[j];
    }
}

int svd(const DLTensor *A, bool full_matrices, DLTensor *U, DLTensor *S, DLTensor *Vh) {
    const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = m < n ? m : n, most = m < n ? n : m;
    const int64_t wide = kg_dim(U, -1), high = kg_dim(Vh, -2), all = full_matrices ? most : k;
    int64_t count = 1;
    for (int d = 0; d < A->ndim - 2; d++) count *= kg_dim(A, d);
    number *w = malloc((size_t)(most * most + k * k + 1) * sizeof *w), *v = w + most * most;
    double *s = malloc((size_t)(k + 1) * sizeof *s);
    for (int64_t b = 0; b < count; b++) {
        const int64_t at = matrix_at(A, b);
        for (int64_t i = 0; i < m * n; i++) /* A's columns, or the conjugate rows of a wide A */
            w[i] = m < n ? conj(load(A, at, i / n, i % n)) : load(A, at, i % m, i / m);
        jacobi(most, k, w, v);
        finish(most, k, all, w, v, s);
        number *left = m < n ? v : w, *right = m < n ? w : v;
        for (int64_t i = 0; i < m * wide; i++) store(U, b * m * wide + i, left[i % wide * m + i / wide]);
        for (int64_t i = 0; i < k; i++) kg_put(S, b * k + i, s[i]);
        for (int64_t i = 0; i < high * n; i++) store(Vh, b * high * n + i, conj(right[i]));
    }
    free(w);
    free(s);
    return 0;
}
