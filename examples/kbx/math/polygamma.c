// polygamma: (-1)^(n+1) n! zeta(n + 1, x) (DLMF 25.11.12), zeta by steps to the right and Euler and Maclaurin's formula
// (DLMF 25.11.28); n = 0, digamma, by reflection, steps and an asymptotic series (DLMF 5.5.2, 5.5.4, 5.11.2).
#include <kgate/kernel.h>
#include <math.h>

static double digamma(double x) {
    static const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    if (x == 0) return -1 / x;
    if (isnan(x) || (x < 0 && x == floor(x))) return NAN;
    double sum = 0, tail = 0;
    if (x < 0) {
        const double angle = M_PI * (x - rint(x));
        sum = -M_PI * cos(angle) / sin(angle);
        x = 1 - x;
    }
    for (; x < 12; x += 1) sum -= 1 / x;
    for (int k = 6; k >= 0; k--) tail = (c[k] + tail) / (x * x);
    return sum + log(x) - 0.5 / x - tail;
}

static double zeta(double s, double q) {
    static const double b[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                               -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};  // B_2k / (2k)!
    double sum = 0;
    if (q == 0) return INFINITY;
    for (; q < s + 12; q += 1) sum += pow(q, -s);
    double t = pow(q, -s), tail = q * t / (s - 1) + 0.5 * t;
    t *= s / q;
    for (int k = 0; k < 6; k++) {
        tail += b[k] * t;
        t *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
    }
    return sum + tail;
}

int polygamma(int64_t n, const DLTensor *input, DLTensor *out) {
    const int64_t elements = kg_elements(out);
    const double factor = (n % 2 ? 1 : -1) * tgamma((double)n + 1);
    for (int64_t i = 0; i < elements; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, n == 0 ? digamma(x) : factor * zeta((double)n + 1, x));
    }
    return 0;
}
