// Mean and centred sum of squares of a line, with what honest two-pass and Welford kernels may err by.
//
// Error of the mean: that of the sum, over n. An error e of the mean changes sum (x_i - mean)^2 by n e^2 exactly (the
// first-order part is 2 e sum(x_i - mean) = 0). Rounding the mean itself and each x_i - mean adds at most
// u (|mean| + |d_i|) to every centred value d_i, independently: 2 sqrt(sum d_i^2 (|mean| + |d_i|)^2) to the sum of
// squares.
// Welford's mean after k values has been rounded k times, u |mean| each, and keeps what it erred by: m_k = m_(k-1) +
// (x_k - m_(k-1)) / k makes k e_k = sum_j j r_j, so e_k is of size u |mean| sqrt(k / 3). Step k adds d_k^2 with an
// error of 2 d_k e_k, independently: 2 u |mean| sqrt(sum d_k^2 k / 3) = 2 u |mean| sqrt(n sum d^2 / 6) in all. A
// one-pass kernel, sum x^2 - n mean^2, errs by u n mean^2 and more: that is not covered, and must not be (Chan, Golub,
// LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983).
#include "oracle/oracle.h"

static double mean_of(const kg_view *v, kg_line_t line, double *acc) {
    kg_sum_t s = {0};
    for (int64_t k = 0; k < line.n; k++) kg_sum_add(&s, kg_at_offset(v, line.start + k * line.step));
    const double n = (double)line.n;
    *acc = kg_sum_acc(&s) / n;
    return kg_sum_value(&s) / n;
}

kg_moments_t kg_moments(const kg_view *v, kg_line_t line) {
    kg_moments_t r = {.n = line.n, .mean = NAN, .m2 = NAN};
    if (line.n == 0) return r;
    r.mean = mean_of(v, line, &r.mean_acc);
    kg_sum_t s = {0}, rounding = {0};
    for (int64_t k = 0; k < line.n; k++) {
        const double d = kg_at_offset(v, line.start + k * line.step) - r.mean;
        kg_dot_add(&s, d, d);
        const double slack = d * (fabs(r.mean) + fabs(d));
        kg_dot_add(&rounding, slack, slack);
    }
    r.m2 = kg_sum_value(&s);
    const double u = v->desc.dtype == KG_F64 ? 0x1p-53 : 0x1p-24;
    r.m2_acc = kg_sum_acc(&s) + KG_LAMBDA * 2.0 * sqrt(kg_sum_value(&rounding)) + kg_welford_acc(r.n, r.mean, r.m2) +
               (double)line.n * r.mean_acc * r.mean_acc * u;
    return r;
}
