// digamma: reflection for negative x, steps up to 12, then the asymptotic series (DLMF 5.5.2, 5.5.4, 5.11.2).
#include <kgate/kernel.h>
#include <math.h>

// ln x - 1/(2x) - sum of B_2k / (2k x^2k), for x >= 12
static double asymptotic(double x) {
    static const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    const double y = 1 / (x * x);
    double tail = 0;
    for (int k = 6; k >= 0; k--) tail = y * (c[k] + tail);
    return log(x) - 0.5 / x - tail;
}

static double psi(double x) {
    if (x == 0) return -1 / x;
    if (isnan(x) || (x < 0 && x == floor(x))) return NAN;  // poles, and -inf
    double sum = 0;
    if (x < 0) {
        const double angle = M_PI * (x - rint(x));
        sum = -M_PI * cos(angle) / sin(angle);
        x = 1 - x;
    }
    for (; x < 12; x += 1) sum -= 1 / x;
    return sum + asymptotic(x);
}

int digamma(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) kg_put(out, i, psi(kg_get(input, i)));
    return 0;
}
