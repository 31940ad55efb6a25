// Ai: an integral for x >= 1, an asymptotic series for x < -12, and y'' = x y integrated from 0 in between.
#include <kgate/kernel.h>
#include <math.h>

// sqrt(x / 3) K_1/3(z) / pi with z = 2/3 x^(3/2): K is the integral of exp(-z cosh t) cosh(t / 3), by the trapezoidal
// rule (DLMF 9.6.2, 10.32.9).
static double decaying(double x) {
    const double z = 2.0 / 3.0 * x * sqrt(x);
    double sum = 0.5;
    for (int k = 1; k < 400; k++) {
        const double t = k / 32.0, s = sinh(t / 2), term = exp(-2 * z * s * s) * cosh(t / 3);
        sum += term;
        if (term < 1e-18 * sum) break;
    }
    return sqrt(x / 3) * exp(-z) / M_PI * sum / 32;
}

// DLMF 9.7.9
static double far_left(double x) {
    const double root = sqrt(-x), z = 2.0 / 3.0 * -x * root;
    double even = 0, odd = 0, c = 1;
    for (int k = 0; k < 24; k++) {
        if (k % 2 == 0) even += k % 4 ? -c : c;
        else odd += k % 4 == 3 ? -c : c;
        c *= (6.0 * k + 1) * (6.0 * k + 5) / (72.0 * (k + 1) * z);
    }
    return (cos(z - M_PI_4) * even + sin(z - M_PI_4) * odd) / sqrt(M_PI * root);
}

// Taylor steps of half a unit at most. The terms t_n of y(x + h) obey t_(n+2) = (x h^2 t_n + h^3 t_(n-1)) / (n+1)(n+2).
static double near_zero(double x) {
    double y = 0.355028053887817239, slope = -0.258819403792806798;  // Ai(0), Ai'(0)
    const int steps = (int)ceil(2 * fabs(x));
    const double h = x / steps;
    for (int s = 0; s < steps; s++) {
        double before = 0, a = y, b = slope * h, sum = a + b, sum_n = b;
        for (int n = 0; n < 30; n++) {
            const double next = (s * h * h * h * a + h * h * h * before) / ((n + 1.0) * (n + 2.0));
            sum += next;
            sum_n += (n + 2) * next;
            before = a;
            a = b;
            b = next;
        }
        y = sum;
        slope = sum_n / h;
    }
    return y;
}

static double ai(double x) {
    if (isnan(x)) return x;
    return x >= 1 ? decaying(x) : x < -12 ? far_left(x) : near_zero(x);
}

int airy_ai(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) kg_put(out, i, ai(kg_get(input, i)));
    return 0;
}
