#include "oracle/decode.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <stdlib.h>

struct kg_decoder {
    const double *factors;
    int64_t n, m;
    gsl_matrix *root;  // Cholesky's, of B B'
};

static double dot(const double *a, const double *b, int64_t n) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

kg_decoder *kg_decoder_make(const double *factors, int64_t n, int64_t m) {
    kg_decoder *d = malloc(sizeof *d);
    gsl_matrix *g = n > 0 ? gsl_matrix_alloc((size_t)n, (size_t)n) : NULL;
    bool ok = d && g;
    for (int64_t i = 0; ok && i < n; i++)
        for (int64_t k = 0; k <= i; k++) {
            const double s = dot(factors + i * m, factors + k * m, m);
            gsl_matrix_set(g, (size_t)i, (size_t)k, s);
            gsl_matrix_set(g, (size_t)k, (size_t)i, s);
        }
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    ok = ok && gsl_linalg_cholesky_decomp1(g) == GSL_SUCCESS;
    gsl_set_error_handler(handler);
    if (ok) {
        *d = (kg_decoder){factors, n, m, g};
        return d;
    }
    if (g) gsl_matrix_free(g);
    free(d);
    return NULL;
}

void kg_decoder_free(kg_decoder *d) {
    if (!d) return;
    gsl_matrix_free(d->root);
    free(d);
}

void kg_decode(const kg_decoder *d, const double *y, double *z, double *rest) {
    gsl_vector_view x = gsl_vector_view_array(z, (size_t)d->n);
    for (int64_t i = 0; i < d->n; i++) z[i] = dot(d->factors + i * d->m, y, d->m);
    gsl_linalg_cholesky_svx(d->root, &x.vector);
    for (int64_t j = 0; rest && j < d->m; j++) {
        rest[j] = y[j];
        for (int64_t i = 0; i < d->n; i++) rest[j] -= z[i] * d->factors[i * d->m + j];
    }
}

// A term a m has the values 0 and a / q: variance a^2 p / q, range a / q, fourth central moment
// a^4 / q^4 (p q (1 - 3 p q)). E X^4 = 3 variance^2 + sum of (fourth - 3 variance^2) of the terms.
kg_dropped_sum kg_dropped_sum_of(const double *a, int64_t n, double p) {
    const double q = 1 - p;
    kg_dropped_sum s = {0};
    double excess = 0;
    for (int64_t k = 0; k < n; k++) {
        const double range = a[k] / q, square = a[k] * a[k], variance = square * p / q;
        s.mean += a[k];
        s.least += fmin(range, 0), s.most += fmax(range, 0);
        s.variance += variance;
        s.proxy += range * range / 4;
        excess += range * range * range * range * p * q * (1 - 3 * p * q) - 3 * variance * variance;
    }
    s.fourth = 3 * s.variance * s.variance + excess;
    return s;
}
