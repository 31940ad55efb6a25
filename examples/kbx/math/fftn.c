// A transform along one dimension after the other, each line by recursion over the prime factors of its length.
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

typedef double complex point;

// out = transform of the n points in[0], in[step], ...; root[j] = exp(-2 pi i j / (n step)); scratch: n points.
static void fft(int64_t n, const point *in, int64_t step, const point *root, point *out, point *scratch) {
    int64_t p = 2;
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    while (n % p) p++;
    const int64_t m = n / p;
    for (int64_t r = 0; r < p; r++) fft(m, in + r * step, step * p, root, out + r * m, scratch);
    for (int64_t k = 0; k < n; k++) {
        scratch[k] = 0;
        for (int64_t r = 0; r < p; r++) scratch[k] += root[r * k % n * step] * out[r * m + k % m];
    }
    for (int64_t k = 0; k < n; k++) out[k] = scratch[k];
}

static void along(point *x, const DLTensor *shape, int d) {
    const int64_t n = kg_dim(shape, d), step = kg_stride(shape, d), lines = kg_elements(shape) / n;
    point *root = malloc((size_t)(4 * n) * sizeof *root), *line = root + n;
    for (int64_t j = 0; j < n; j++) root[j] = cexp(-2 * M_PI * I * ((double)j / (double)n));
    for (int64_t l = 0; l < lines; l++) {
        point *first = x + kg_line(shape, d, l);
        for (int64_t j = 0; j < n; j++) line[j] = first[j * step];
        fft(n, line, 1, root, line + n, line + 2 * n);
        for (int64_t j = 0; j < n; j++) first[j * step] = line[n + j];
    }
    free(root);
}

// input in out's shape: trimmed, and padded with zeros.
static void load(const DLTensor *input, const DLTensor *out, point *x) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0;
        bool inside = true;
        for (int d = out->ndim - 1; d >= 0; d--) {
            const int64_t k = rest % kg_dim(out, d);
            rest /= kg_dim(out, d);
            inside = inside && k < kg_dim(input, d);
            at += k * kg_stride(input, d);
        }
        double re = 0, im = 0;
        if (inside) kg_get_complex_at(input, at, &re, &im);
        x[i] = re + im * I;
    }
}

int fftn(const DLTensor *input, const kg_ints *s, const kg_ints *dim, const char *norm, DLTensor *out) {
    const int64_t n = kg_elements(out), count = dim ? dim->n : s ? s->n : out->ndim;
    point *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    double points = 1;
    load(input, out, x);
    for (int64_t k = 0; k < count && n; k++) {
        const int64_t d = dim ? dim->v[k] : out->ndim - count + k;
        const int wrapped = (int)(d < 0 ? d + out->ndim : d);
        along(x, out, wrapped);
        points *= (double)kg_dim(out, wrapped);
    }
    const double scale = kg_same(norm, "ortho") ? 1 / sqrt(points) : kg_same(norm, "forward") ? 1 / points : 1;
    for (int64_t i = 0; i < n; i++)
        kg_put_complex_at(out, kg_element(out, i), scale * creal(x[i]), scale * cimag(x[i]));
    free(x);
    return 0;
}
