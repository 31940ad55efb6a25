/* kgate: task=matrix_power_eig */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double complex point;

static void multiply(const point *a, const point *b, point *out, int64_t n) {
    for (int64_t i = 0; i < n * n; i++) {
        out[i] = 0;
        for (int64_t j = 0; j < n; j++) out[i] += a[i / n * n + j] * b[j * n + i % n];
    }
}

static void invert(const point *from, point *x, int64_t n, point *a) {
    memcpy(a, from, (size_t)(n * n) * sizeof *a);
    for (int64_t i = 0; i < n * n; i++) x[i] = i / n == i % n;
    for (int64_t c = 0; c < n; c++) {
        int64_t p = c;
        for (int64_t r = c + 1; r < n; r++)
            if (cabs(a[r * n + c]) > cabs(a[p * n + c])) p = r;
        for (int64_t j = 0; j < n; j++) {
            const point t = a[c * n + j], u = x[c * n + j];
            a[c * n + j] = a[p * n + j], a[p * n + j] = t;
            x[c * n + j] = x[p * n + j], x[p * n + j] = u;
        }
        const point pivot = a[c * n + c];
        for (int64_t j = 0; j < n; j++) a[c * n + j] /= pivot, x[c * n + j] /= pivot;
        for (int64_t r = 0; r < n; r++) {
            const point l = a[r * n + c];
            for (int64_t j = 0; r != c && j < n; j++)
                a[r * n + j] -= l * a[c * n + j], x[r * n + j] -= l * x[c * n + j];
        }
    }
}

/* x = its principal square root: Denman and Beavers' iteration, in the form with one inverse. */
static void square_root(point *x, int64_t n, point *m, point *inverse, point *scratch) {
    memcpy(m, x, (size_t)(n * n) * sizeof *m);
    for (int step = 0; step < 16; step++) {
        invert(m, inverse, n, scratch);
        for (int64_t i = 0; i < n * n; i++) {
            m[i] = ((i / n == i % n) + (m[i] + inverse[i]) / 2) / 2;
            inverse[i] = ((i / n == i % n) + inverse[i]) / 2;
        }
        multiply(x, inverse, scratch, n);
        memcpy(x, scratch, (size_t)(n * n) * sizeof *x);
    }
}

/* p = x^k for k > 0: the whole part by products, the rest by square roots, bit by bit. */
static void power(point *x, double k, point *p, int64_t n, point *s) {
    double part = k - floor(k);
    for (int64_t i = 0; i < n * n; i++) p[i] = i / n == i % n;
    for (int64_t whole = (int64_t)k; whole > 0; whole--) {
        multiply(p, x, s, n);
        memcpy(p, s, (size_t)(n * n) * sizeof *p);
    }
    while (part > 0) {
        square_root(x, n, s, s + n * n, s + 2 * n * n);
        part *= 2;
        if (part < 1) continue;
        part -= 1;
        multiply(p, x, s, n);
        memcpy(p, s, (size_t)(n * n) * sizeof *p);
    }
}

int matrix_power_eig(const DLTensor *A, double k, DLTensor *out) {
    const int64_t n = kg_dim(A, -1);
    point *x = malloc((size_t)(5 * n * n + 1) * sizeof *x), *p = x + n * n, *s = p + n * n;
    for (int64_t b = 0; kg_elements(out) && b < kg_elements(out) / (n * n); b++) {
        int64_t from = 0, to = 0, rest = b;
        for (int d = A->ndim - 3; d >= 0; d--) {
            from += rest % A->shape[d] * kg_stride(A, d);
            to += rest % A->shape[d] * kg_stride(out, d);
            rest /= A->shape[d];
        }
        for (int64_t i = 0; i < n * n; i++) {
            double re, im;
            kg_get_complex_at(A, from + i / n * kg_stride(A, -2) + i % n * kg_stride(A, -1), &re, &im);
            x[i] = re + im * I;
        }
        power(x, fabs(k), p, n, s);
        if (k < 0) invert(p, x, n, s);
        const point *result = k < 0 ? x : p;
        for (int64_t i = 0; i < n * n; i++)
            kg_put_complex_at(out, to + i / n * kg_stride(out, -2) + i % n * kg_stride(out, -1), creal(result[i]),
                              cimag(result[i]));
    }
    free(x);
    return 0;
}
