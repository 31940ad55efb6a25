/* kgate: task=spectral_norm_eig */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* Householder's reflections from both sides: upper Hessenberg form. v: scratch. */
static void hessenberg(double complex *a, double complex *v, int64_t n) {
    for (int64_t k = 0; k + 2 < n; k++) {
        double norm = 0, square = 0;
        for (int64_t r = k + 1; r < n; r++) norm += creal(a[r * n + k] * conj(a[r * n + k]));
        const double complex first = a[(k + 1) * n + k];
        for (int64_t r = k + 1; r < n; r++) v[r] = a[r * n + k];
        v[k + 1] += (cabs(first) > 0 ? first / cabs(first) : 1) * sqrt(norm);
        for (int64_t r = k + 1; r < n; r++) square += creal(v[r] * conj(v[r]));
        for (int64_t c = 0; square > 0 && c < n; c++) {
            double complex s = 0;
            for (int64_t r = k + 1; r < n; r++) s += conj(v[r]) * a[r * n + c];
            for (int64_t r = k + 1; r < n; r++) a[r * n + c] -= 2 * s / square * v[r];
        }
        for (int64_t r = 0; square > 0 && r < n; r++) {
            double complex s = 0;
            for (int64_t c = k + 1; c < n; c++) s += a[r * n + c] * v[c];
            for (int64_t c = k + 1; c < n; c++) a[r * n + c] -= 2 * s / square * conj(v[c]);
        }
    }
}

/* The eigenvalue of the last two rows that is nearer to the last element. */
static double complex shift(const double complex *a, int64_t n, int64_t m) {
    const double complex p = a[(m - 1) * n + m - 1], q = a[m * n + m], r = a[(m - 1) * n + m] * a[m * n + m - 1];
    const double complex d = (p - q) / 2, root = csqrt(d * d + r);
    const double complex x = cabs(d + root) > cabs(d - root) ? d + root : d - root;
    return x == 0 ? q : q - r / x;
}

/* One QR step on the first m + 1 rows and columns, by Givens' rotations. */
static void step(double complex *a, double complex *cs, int64_t n, int64_t m, double complex mu) {
    for (int64_t k = 0; k <= m; k++) a[k * n + k] -= mu;
    for (int64_t k = 0; k < m; k++) {
        const double complex x = a[k * n + k], y = a[(k + 1) * n + k];
        const double size = hypot(cabs(x), cabs(y));
        cs[2 * k] = size > 0 ? x / size : 1;
        cs[2 * k + 1] = size > 0 ? y / size : 0;
        for (int64_t j = k; j <= m; j++) {
            const double complex u = a[k * n + j], w = a[(k + 1) * n + j];
            a[k * n + j] = conj(cs[2 * k]) * u + conj(cs[2 * k + 1]) * w;
            a[(k + 1) * n + j] = cs[2 * k] * w - cs[2 * k + 1] * u;
        }
    }
    for (int64_t k = 0; k < m; k++)
        for (int64_t i = 0; i <= k + 1; i++) {
            const double complex u = a[i * n + k], w = a[i * n + k + 1];
            a[i * n + k] = u * cs[2 * k] + w * cs[2 * k + 1];
            a[i * n + k + 1] = w * conj(cs[2 * k]) - u * conj(cs[2 * k + 1]);
        }
    for (int64_t k = 0; k <= m; k++) a[k * n + k] += mu;
}

static double radius(double complex *a, double complex *scratch, int64_t n) {
    double most = 0;
    hessenberg(a, scratch, n);
    for (int64_t m = n - 1, tries = 0; m >= 0;) {
        const double beside = m > 0 ? cabs(a[m * n + m]) + cabs(a[(m - 1) * n + m - 1]) : 0;
        if (m == 0 || cabs(a[m * n + m - 1]) <= 1e-16 * beside || tries > 300) {
            most = fmax(most, cabs(a[m * n + m]));
            m--;
            tries = 0;
            continue;
        }
        step(a, scratch, n, m, ++tries % 11 == 10 ? cabs(a[m * n + m - 1]) : shift(a, n, m));
    }
    return most;
}

int spectral_norm_eig(const DLTensor *A, DLTensor *out) {
    const int64_t n = kg_dim(A, -1);
    double complex *a = malloc((size_t)(n * n + 2 * n + 1) * sizeof *a);
    for (int64_t i = 0; i < kg_elements(out); i++) {
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
        kg_put(out, i, radius(a, a + n * n, n));
    }
    free(a);
    return 0;
}
