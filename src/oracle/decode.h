// Which terms were dropped from sums, told from enough of them: y = B' z, of n unknowns z and more sums than that.
#ifndef KG_DECODE_H
#define KG_DECODE_H

#include "oracle/oracle.h"

// The sums' factors, n rows of m columns, row-major, m >= n; kept, not copied. NULL: no memory, or rows that depend on
// each other.
typedef struct kg_decoder kg_decoder;
kg_decoder *kg_decoder_make(const double *factors, int64_t n, int64_t m);
void kg_decoder_free(kg_decoder *d);
// The least squares solution of y = B' z, and what of y it leaves over (NULL: not wanted).
void kg_decode(const kg_decoder *d, const double *y, double *z, double *rest);

// ---- where there are too few sums: what a sum with terms dropped is distributed like --------------------------------
// Sum of a[k] m[k], m[k] = 1 / (1 - p) with probability 1 - p, else 0. Less its mean it is sub-Gaussian with `proxy`
// (Hoeffding's lemma): E exp(t X) <= exp(t^2 proxy / 2).
typedef struct {
    double mean, least, most;        // least, most: what it can be
    double variance, proxy, fourth;  // fourth: E X^4
} kg_dropped_sum;
kg_dropped_sum kg_dropped_sum_of(const double *a, int64_t n, double p);

#endif
