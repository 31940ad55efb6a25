#include "oracle/special.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_sf.h>
#include <pthread.h>

// GSL ends the program at an overflow or underflow unless told not to; the values are then infinities and zeros.
static void do_not_abort(void) { gsl_set_error_handler_off(); }
static void quiet(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, do_not_abort);
}

// A condition may overflow where the value does not: near the largest float64 it is the latter.
static kg_point conditioned(double value, double condition) {
    if (!isfinite(value) || isnan(condition)) return kg_point_exact(value);
    kg_point p = kg_point_make(value, condition);
    p.local = fmin(p.local, DBL_MAX);
    return p;
}

// `error`: what the reference itself may err by.
static kg_point point(double value, double condition, double error, kg_dtype out) {
    kg_point p = conditioned(value, condition);
    if (!isfinite(value)) return p;
    if (out == KG_F64) p.local = fmin(p.local + 0x1p53 * error, DBL_MAX);
    return p;
}

// ---- I0 -------------------------------------------------------------------------------------------
kg_point kg_i0_point(double x, kg_dtype out) {
    if (!isfinite(x)) return kg_point_exact(fabs(x));
    quiet();
    gsl_sf_result i0, i1;
    gsl_sf_bessel_I0_scaled_e(x, &i0);
    gsl_sf_bessel_I1_scaled_e(x, &i1);
    const double half = exp(0.5 * fabs(x)), rest = exp(fabs(x) - 0.5 * fabs(x));  // the product may overflow, not these
    const double value = i0.val * half * rest;
    kg_point p = point(value, x * (i1.val * half * rest), i0.err * half * rest + 0x1p-51 * value, out);
    if (isfinite(value) && half * rest >= kg_dtype_max(out)) p.local = INFINITY;
    return p;
}

// ---- gamma and its logarithmic derivatives ----------------------------------------------------------
// Order n >= 1, x > 0. n = 0: any x but the poles.
static gsl_sf_result psi(int n, double x) {
    gsl_sf_result r = {0};
    quiet();
    if (n == 0) gsl_sf_psi_e(x, &r);
    else if (n == 1) gsl_sf_psi_1_e(x, &r);
    else gsl_sf_psi_n_e(n, x, &r);
    return r;
}

static double distance_to_integer(double x) { return fabs(x - rint(x)); }

// psi1(x) = pi^2 / sin^2(pi x) - psi1(1 - x) (DLMF 5.15.6).
static double trigamma(double x) {
    if (x > 0) return psi(1, x).val;
    const double s = sin(M_PI * distance_to_integer(x));
    return M_PI * M_PI / (s * s) - psi(1, 1 - x).val;
}

// ln |Gamma|. Left of 0 kernels reflect: ln(pi / |x sin(pi x)|) - ln Gamma(1 - x) (DLMF 5.5.3), whose parts cancel near
// the zeros there.
kg_point kg_gammaln_point(double x) {
    if (isnan(x) || isinf(x)) return kg_point_exact(fabs(x));
    int sign;
    const double value = (double)lgammal_r((long double)x, &sign);
    if (isinf(value)) return kg_point_exact(value);
    double condition = x * psi(0, x).val;
    if (x < 0) condition = fabs(condition) + 2 * fabs((double)lgammal_r(1.0L - (long double)x, &sign));
    kg_point p = kg_point_make(value, condition);
    if (fabs(x) < 0x1p-126) p.local = INFINITY;  // a denormal may be taken for zero
    return p;
}

// psi_n(x) = psi_n(x + m) + (-1)^(n+1) n! sum_k 1 / (x + k)^(n+1), k < m (DLMF 5.15.5); *parts gets the sum of the
// absolute values.
static double polygamma(int n, double x, double *parts, double *error) {
    if (n == 1 && x < 0) {
        *parts = fabs(trigamma(x));
        *error = 0x1p-50 * (1 + fabs(x)) * *parts;
        return trigamma(x);
    }
    const int m = x < 0 ? (int)ceil(-x) : 0;
    const double factor = (n % 2 ? 1 : -1) * tgamma(n + 1.0);
    const gsl_sf_result far = psi(n, x + m);
    double sum = far.val;
    *parts = fabs(sum);
    for (int k = 0; k < m; k++) {
        const double term = factor * pow(x + k, -(n + 1));
        sum += term;
        *parts += fabs(term);
    }
    *error = far.err + 0x1p-51 * (1 + m) * *parts;
    return sum;
}

static kg_point digamma_point(double x, kg_dtype out) {
    if (x == 0) return kg_point_exact(copysign(INFINITY, -x));  // -1/x
    if (isinf(x)) return kg_point_exact(x > 0 ? x : NAN);
    if (isnan(x) || (x < 0 && x == rint(x))) return kg_point_exact(NAN);  // a pole
    const gsl_sf_result r = psi(0, x);
    // Left of 0 by reflection: psi(1 - x) - pi / tan(pi x) (DLMF 5.5.4). Up to 10 by steps, whose sum cancels with a
    // logarithm of about 2 near the zero at 1.46.
    const double parts = x < 0 ? fabs(psi(0, 1 - x).val) : x < 10 ? 1 : 0;
    kg_point p = point(r.val, fabs(x * trigamma(x)) + parts, r.err, out);
    if (fabs(x) < 0x1p-126) p.local = INFINITY;  // a denormal may be taken for zero
    return p;
}

// A factor n! made as exp(lgamma(n + 1)), as PyTorch's is, errs by n ln n u or so.
kg_point kg_polygamma_point(int n, double x, kg_dtype out) {
    if (n == 0) return digamma_point(x, out);
    if (isnan(x)) return kg_point_exact(NAN);
    if (n == 1 && x < 0 && x == rint(x)) {
        // A pole, whose sin(pi x) PyTorch rounds to what is not quite 0: any number passes.
        return (kg_point){kg_dtype_max(out), INFINITY};
    }
    if (x <= 0 && x == rint(x)) return kg_point_exact(n % 2 ? INFINITY : -INFINITY);
    double parts, error, more, unused;
    const double value = polygamma(n, x, &parts, &error), slope = polygamma(n + 1, x, &more, &unused);
    return point(value, fabs(x * slope) + parts + lgamma(n + 1.0) * fabs(value), error, out);
}

// ---- Hurwitz zeta -------------------------------------------------------------------------------------
enum { HEAD = 10 };

// sum |ln(q + k)| (q + k)^-s, an upper bound of |d zeta / d s|: ten terms and the integral of the rest.
static double log_sum(double s, double q) {
    double sum = 0;
    for (int k = 0; k < HEAD; k++) sum += fabs(log(fabs(q + k))) * pow(fabs(q + k), -s);
    const double a = fmax(q + HEAD, HEAD);
    return sum + pow(a, 1 - s) * (log(a) / (s - 1) + 1 / ((s - 1) * (s - 1)));
}

// s > 1; for q < 0, s is an integer: zeta(s, q) = zeta(s, q + m) + sum_k (q + k)^-s.
static double hurwitz(double s, double q, double *parts, double *error) {
    quiet();
    const int m = q < 0 ? (int)ceil(-q) : 0;
    gsl_sf_result far = {0};
    gsl_sf_hzeta_e(s, q + m, &far);
    double sum = far.val;
    *parts = fabs(sum);
    for (int k = 0; k < m; k++) {
        sum += pow(q + k, -s);
        *parts += pow(fabs(q + k), -s);
    }
    *error = far.err + 0x1p-51 * (1 + m) * *parts;
    return sum;
}

kg_point kg_zeta_point(double s, double q, kg_dtype out) {
    if (isnan(s) || isnan(q) || s < 1) return kg_point_exact(NAN);
    if (s == 1 || (q <= 0 && q == rint(q))) return kg_point_exact(INFINITY);
    if (q < 0 && s != rint(s)) return kg_point_exact(NAN);  // a root of a negative number
    double parts, error, more, unused;
    const double value = hurwitz(s, q, &parts, &error);
    hurwitz(s + 1, q, &more, &unused);
    // Each power rounds, and the sum of the first ten: 2 parts.
    return point(value, s * log_sum(s, q) + fabs(q) * s * more + 2 * parts, error, out);
}

// ---- oscillating functions ------------------------------------------------------------------------------
// A wrong phase moves the value by the amplitude's part that the derivative shows elsewhere in the period: the
// condition is the amplitude's, |x| sqrt(f'^2 + w^2 f^2) with w the local frequency, not that of the point.
kg_point kg_j1_point(double x, kg_dtype out) {
    if (isnan(x)) return kg_point_exact(x);
    if (isinf(x)) return kg_point_exact(0);
    const double value = (double)j1l((long double)x);
    if (fabs(x) < 1) return point(value, value, 0x1p-53 * fabs(value), out);
    const double slope = j0(x) - value / x;
    return point(value, x * hypot(slope, value), 0x1p-53 * fabs(value), out);
}

kg_point kg_airy_ai_point(double x, kg_dtype out) {
    if (isnan(x)) return kg_point_exact(x);
    if (isinf(x)) return kg_point_exact(0);
    quiet();
    gsl_sf_result ai, slope;
    gsl_sf_airy_Ai_e(x, GSL_PREC_DOUBLE, &ai);
    gsl_sf_airy_Ai_deriv_e(x, GSL_PREC_DOUBLE, &slope);
    if (x < 0) return point(ai.val, x * hypot(slope.val, sqrt(-x) * ai.val), ai.err, out);
    // Up to 2 or so kernels subtract the two Maclaurin series (DLMF 9.4.1), whose sum is Bi / sqrt 3 (DLMF 9.4.3).
    gsl_sf_result bi = {0};
    if (x < 2.5) gsl_sf_airy_Bi_e(x, GSL_PREC_DOUBLE, &bi);
    return point(ai.val, fabs(x * slope.val) + bi.val / sqrt(3), ai.err, out);
}

// ---- polynomials ------------------------------------------------------------------------------------------
// By the recurrence, in long double. Within [-1, 1] kernels also take cos(n acos x): the phase n acos x rounds.
kg_point kg_chebyshev_t_point(double x, double n) {
    const int64_t degree = (int64_t)n;  // towards zero
    if (degree <= 0) return kg_point_exact(degree < 0 ? 0 : 1);
    long double before = 1, t = (long double)x, u_before = 1, u = 2 * (long double)x;  // U_(n-1) follows T_n
    if (degree == 1 || isnan(x)) return kg_point_exact(x);
    for (int64_t k = 1; k < degree; k++) {
        const long double next = 2 * (long double)x * t - before, u_next = 2 * (long double)x * u - u_before;
        before = t;
        t = next;
        u_before = u;
        u = u_next;
    }
    const double value = (double)t, condition = fabs(x) * (double)degree * fabs((double)u_before);
    const double phase = fabs(x) < 1 ? (double)degree * (acos(x) + 1) : 0;
    return conditioned(value, condition + phase);
}
