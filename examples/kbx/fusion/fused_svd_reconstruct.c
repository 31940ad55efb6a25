/* kgate: task=fused_svd_reconstruct */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
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

static double complex dot(const double complex *x, const double complex *y, int64_t n) {
    double complex s = 0;
    for (int64_t i = 0; i < n; i++) s += conj(x[i]) * y[i];
    return s;
}

/* x, y = c x - s y / phase, s x + c y / phase */
static void rotate(double complex *x, double complex *y, int64_t n, double c, double s, double complex phase) {
    for (int64_t i = 0; i < n; i++) {
        const double complex u = x[i], v = y[i] * conj(phase);
        x[i] = c * u - s * v;
        y[i] = s * u + c * v;
    }
}

/* One-sided Jacobi: the q columns of w (p long, one after the other) become orthogonal, as w v; v is unitary. */
static void jacobi(double complex *w, double complex *v, int64_t p, int64_t q) {
    bool turned = true;
    for (int64_t i = 0; i < q * q; i++) v[i] = i / q == i % q;
    for (int sweep = 0; turned && sweep < 40; sweep++) {
        turned = false;
        for (int64_t a = 0; a < q; a++)
            for (int64_t b = a + 1; b < q; b++) {
                double complex *x = w + a * p, *y = w + b * p;
                const double xx = creal(dot(x, x, p)), yy = creal(dot(y, y, p));
                const double complex xy = dot(x, y, p);
                const double size = cabs(xy);
                if (size <= 1e-15 * sqrt(xx * yy) || size < 1e-280) continue;
                const double zeta = (yy - xx) / (2 * size);
                const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t);
                rotate(x, y, p, c, c * t, xy / size);
                rotate(v + a * q, v + b * q, q, c, c * t, xy / size);
                turned = true;
            }
    }
}

int fused_svd_reconstruct(const DLTensor *A, DLTensor *out) {
    const int64_t m = kg_dim(A, 0), n = kg_dim(A, 1), p = m > n ? m : n, q = m > n ? n : m;
    const int64_t row = kg_stride(A, 0), column = kg_stride(A, 1);
    const bool wide = m < n;
    double complex *w = malloc((size_t)(p * q + q * q + 1) * sizeof *w), *v = w + p * q;
    for (int64_t k = 0; k < p * q; k++)
        w[k] = wide ? conj(get(A, k / p * row + k % p * column)) : get(A, k % p * row + k / p * column);
    jacobi(w, v, p, q);
    for (int64_t r = 0; r < p; r++)
        for (int64_t c = 0; c < q; c++) {
            double complex s = 0;
            for (int64_t j = 0; j < q; j++) s += w[j * p + r] * conj(v[j * q + c]);
            put(out, (wide ? c : r) * kg_stride(out, 0) + (wide ? r : c) * kg_stride(out, 1), wide ? conj(s) : s);
        }
    free(w);
    return 0;
}
