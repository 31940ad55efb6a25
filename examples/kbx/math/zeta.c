// Hurwitz zeta by steps to the right and Euler and Maclaurin's formula (DLMF 25.11.28).
#include <kgate/kernel.h>
#include <math.h>

static double hurwitz(double s, double q) {
    static const double b[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                               -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};  // B_2k / (2k)!
    if (isnan(s) || isnan(q) || s < 1) return NAN;
    if (s == 1 || (q <= 0 && q == floor(q))) return INFINITY;
    if (q < 0 && s != floor(s)) return NAN;
    double sum = 0;
    for (; q < s + 12; q += 1) sum += pow(q, -s);
    double t = pow(q, -s), tail = q * t / (s - 1) + 0.5 * t;
    t *= s / q;
    for (int k = 0; k < 6; k++) {
        tail += b[k] * t;
        t *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
    }
    return sum + tail;
}

int zeta(const DLTensor *input, const DLTensor *other, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++)
        kg_put(out, i, hurwitz(kg_get_broadcast(input, out, i), kg_get_broadcast(other, out, i)));
    return 0;
}
