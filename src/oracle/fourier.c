// A fast transform of N points errs by at most u eta log2(N) times the 2-norm of its result, eta a few units (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 24.2). The error spreads evenly over the elements,
// but for one: where a few results are large (the mean), the last butterflies subtract numbers of their size. So in
// units of u each element is charged 4 log2(2 N) |x|, |x| the 2-norm of the input, which is the root mean square of the
// result, and 4 times the largest result. Prime lengths p are commonly summed directly, as a random walk of p
// roundings: 4 sqrt(p) |x| for the largest prime factor p.
#include "oracle/fourier.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bool transformed(const kg_fourier *f, int dim) {
    for (int k = 0; k < f->n; k++)
        if (f->dim[k] == dim) return true;
    return false;
}

// Storage offset of the input's element for out's element, -1 where it is padding.
static int64_t source(const kg_view *in, int ndim, const int64_t *at) {
    int64_t offset = 0;
    for (int d = 0; d < ndim; d++) {
        if (at[d] >= in->desc.shape[d]) return -1;
        offset += at[d] * in->desc.stride[d];
    }
    return offset;
}

static void load(fftwl_complex *x, const kg_view *in, bool complex_in, const kg_tensor *out) {
    const int64_t n = kg_numel(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t at[KG_MAX_NDIM];
        kg_coords(out, i, at);
        const int64_t from = source(in, out->ndim, at);
        x[i][0] = from < 0 ? 0 : (long double)kg_at_offset(in, from);
        x[i][1] = from < 0 || !complex_in ? 0 : (long double)kg_at_offset(in, from + 1);
    }
}

// FFTW's planner is the one part of it that threads may not share.
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static int transform(fftwl_complex *x, const kg_tensor *out, const kg_fourier *f) {
    fftwl_iodim64 in[KG_MAX_NDIM], others[KG_MAX_NDIM];
    int n_in = 0, n_others = 0;
    for (int d = 0; d < out->ndim; d++) {
        const fftwl_iodim64 dim = {out->shape[d], out->stride[d], out->stride[d]};
        if (transformed(f, d)) in[n_in++] = dim;
        else others[n_others++] = dim;
    }
    pthread_mutex_lock(&planner);
    fftwl_plan p = fftwl_plan_guru64_dft(n_in, in, n_others, others, x, x, FFTW_FORWARD, FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    if (!p) return -1;
    fftwl_execute(p);
    pthread_mutex_lock(&planner);
    fftwl_destroy_plan(p);
    pthread_mutex_unlock(&planner);
    return 0;
}

// Which transform of the batch an element belongs to.
static int64_t group_of(const kg_tensor *out, const kg_fourier *f, int64_t i) {
    int64_t at[KG_MAX_NDIM], group = 0;
    kg_coords(out, i, at);
    for (int d = 0; d < out->ndim; d++)
        if (!transformed(f, d)) group = group * out->shape[d] + at[d];
    return group;
}

typedef struct {
    double square, largest;
} norms;

static norms *norms_of(const fftwl_complex *x, const kg_tensor *out, const kg_fourier *f) {
    const int64_t n = kg_numel(out);
    norms *r = calloc((size_t)((double)n / f->points + 1), sizeof *r);
    for (int64_t i = 0; r && i < n; i++) {
        norms *g = &r[group_of(out, f, i)];
        const double square = (double)(x[i][0] * x[i][0] + x[i][1] * x[i][1]);
        g->square += square / f->points;  // the input's, by Parseval
        g->largest = fmax(g->largest, sqrt(square));
    }
    return r;
}

static double largest_prime_factor(int64_t n) {
    int64_t p = 2;
    while (n > 1 && p * p <= n)
        if (n % p) p++;
        else n /= p;
    return (double)n;
}

static void put(kg_ref *ref, const fftwl_complex *x, const norms *all, const kg_tensor *out, const kg_fourier *f) {
    double prime = 1;
    for (int k = 0; k < f->n; k++) prime = fmax(prime, largest_prime_factor(f->length[k]));
    const double spread = 4 * log2(2 * f->points) + 4 * sqrt(prime);
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k] / 2;
        const norms *g = &all[group_of(out, f, i)];
        ref->value[k] = (double)x[i][ref->index[k] % 2] * f->scale;
        ref->local[k] = f->scale * (spread * sqrt(g->square) + 4 * g->largest);
        ref->acc[k] = 0;
    }
}

int kg_fourier_ref(kg_ref *ref, const kg_view *in, bool complex_in, const kg_tensor *out, const kg_fourier *f) {
    if (ref->n == 0) return 0;
    fftwl_complex *x = fftwl_malloc((size_t)kg_numel(out) * sizeof *x);
    if (!x) return -1;
    load(x, in, complex_in, out);
    norms *all = transform(x, out, f) ? NULL : norms_of(x, out, f);
    if (all) put(ref, x, all, out, f);
    fftwl_free(x);
    if (!all) return -1;
    free(all);
    return 0;
}

// ---- correlation ----------------------------------------------------------------------------------------
static int real_transform(size_t n, double *x, fftw_complex *f, bool forward) {
    pthread_mutex_lock(&planner);
    fftw_plan p =
        forward ? fftw_plan_dft_r2c_1d((int)n, x, f, FFTW_ESTIMATE) : fftw_plan_dft_c2r_1d((int)n, f, x, FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    if (!p) return -1;
    fftw_execute(p);
    pthread_mutex_lock(&planner);
    fftw_destroy_plan(p);
    pthread_mutex_unlock(&planner);
    return 0;
}

// conj(X) Y, over the length.
static void conjugate_product(fftw_complex *x, const fftw_complex *y, size_t n, double scale) {
    for (size_t i = 0; i < n; i++) {
        const double re = x[i][0] * y[i][0] + x[i][1] * y[i][1], im = x[i][0] * y[i][1] - x[i][1] * y[i][0];
        x[i][0] = re * scale, x[i][1] = im * scale;
    }
}

double *kg_correlations(const double *x, const double *y, size_t n, size_t *length) {
    size_t size = 2;
    while (size < 2 * n) size *= 2;
    double *padded = fftw_malloc(size * sizeof *padded);
    fftw_complex *f = fftw_malloc((size / 2 + 1) * sizeof *f), *g = fftw_malloc((size / 2 + 1) * sizeof *g);
    double *to = malloc(size * sizeof *to);
    bool ok = padded && f && g && to;
    for (int side = 0; side < (x == y ? 1 : 2) && ok; side++) {
        for (size_t i = 0; i < size; i++) padded[i] = i < n ? (side ? y : x)[i] : 0;
        ok = real_transform(size, padded, side ? g : f, true) == 0;
    }
    if (ok) conjugate_product(f, x == y ? f : g, size / 2 + 1, 1 / (double)size);
    ok = ok && real_transform(size, padded, f, false) == 0;
    for (size_t i = 0; i < size && ok; i++) to[i] = padded[i];
    fftw_free(padded);
    fftw_free(f);
    fftw_free(g);
    if (!ok) {
        free(to);
        return NULL;
    }
    *length = size;
    return to;
}
