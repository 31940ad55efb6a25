// Discrete Fourier transforms by FFTW in long double, with what a fast transform may err by.
#ifndef KG_FOURIER_H
#define KG_FOURIER_H

#include "oracle/oracle.h"

// Which dimensions, how long the transform is along each, and the factor in front of the sum.
typedef struct {
    int n;
    int dim[KG_MAX_NDIM];
    int64_t length[KG_MAX_NDIM];
    double scale;
    double points;  // product of the lengths
} kg_fourier;

// The values that ref asks for: real and imaginary parts of `out` in turn. `in` is real, or a complex tensor's parts
// (complex_in); along transformed dimensions it is trimmed or padded with zeros to out's. -1: no memory.
int kg_fourier_ref(kg_ref *ref, const kg_view *in, bool complex_in, const kg_tensor *out, const kg_fourier *f);

// Sums over i of x[i] y[i + lag], n numbers each, for every lag: lag 0, 1, ... at the front of `to`, -1, -2, ... at its
// back, to 1e-15 of their largest or so. *length >= 2 n is what `to` holds; owned by the caller. NULL: no memory.
double *kg_correlations(const double *x, const double *y, size_t n, size_t *length);

#endif
