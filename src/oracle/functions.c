// Functions that libm lacks, and points of common ones: value and what an honest kernel may err by.
//
// Conditions are |x f'(x)|: a relative change d of x moves f by x f'(x) d. Intermediate steps that round on the way
// are covered by KG_LAMBDA unless a comment here adds them.
#include "oracle/oracle.h"

double kg_sigmoid(double x) {
    if (x >= 0) return 1.0 / (1.0 + exp(-x));
    const double e = exp(x);
    return e / (1.0 + e);
}

double kg_normal_cdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

double kg_normal_pdf(double x) { return exp(-0.5 * x * x) * 0.39894228040143267794; }  // 1/sqrt(2 pi)

kg_point kg_exp_point(double x) {
    const double v = exp(x);
    return isfinite(x) ? kg_point_make(v, x * v) : kg_point_exact(v);
}

// x sigma'(x) vanishes in both tails. The usual form 1/(1+exp(-x)) has exp's condition in it, which sigma' damps.
kg_point kg_sigmoid_point(double x) {
    const double v = kg_sigmoid(x);
    return isfinite(x) ? kg_point_make(v, x * v * kg_sigmoid(-x)) : kg_point_exact(v);
}

// tanh(x) through exp(2x), as most kernels have it, loses relative accuracy near 0: (e-1)/(e+1) has an absolute
// error of u there. Kernels that do so are common and their answer is good to u in absolute terms; but the relative
// error of a wrong answer such as 0 must show, so the slack is u * min(1, ...) absolute only.
kg_point kg_tanh_point(double x) {
    const double v = tanh(x);
    if (!isfinite(x)) return kg_point_exact(v);
    kg_point p = kg_point_make(v, x * (1.0 - v) * (1.0 + v));
    p.local += 4.0;
    return p;
}

// Kernels that form exp(x) - 1 as it stands lose relative accuracy near 0, as tanh's do.
kg_point kg_selu_point(double x) {
    const double scale = 1.0507009873554804934193349852946, alpha = 1.6732632423543772848170429916717;
    const double v = x > 0 ? scale * x : scale * alpha * expm1(x);
    if (!isfinite(x)) return kg_point_exact(v);
    kg_point p = kg_point_make(v, x > 0 ? v : x * scale * alpha * exp(x));
    if (x <= 0) p.local += 4.0;
    return p;
}

// x sigma(x): the derivative is sigma (1 + x (1 - sigma)). -inf gives NaN in PyTorch, as -inf * 0 does.
kg_point kg_silu_point(double x) {
    if (!isfinite(x)) return kg_point_exact(x > 0 ? x : NAN);
    const double s = kg_sigmoid(x), v = x * s;
    return kg_point_make(v, x * s * (1 + x * kg_sigmoid(-x)));
}

double kg_power_roundings(double p, double x) { return p == 1 || p == 2 || p == 0.5 ? 1 : 4 + fabs(p * log(x)); }

kg_point kg_relu_point(double x) { return kg_point_exact(isnan(x) ? x : x > 0 ? x : 0.0); }

// gelu(x) = x Phi(x). In the left tail kernels compute 0.5 x (1 + erf(x/sqrt 2)), which cancels: the absolute error of
// erf times |x|/2, until erf is -1 in every format. erf itself is commonly good to a few u only: PyTorch's vectorised
// one on the CPU errs by up to 11 u (measured, 2.11, float32). 16 u are allowed.
static double tail_slack(double x) { return 8.0 * fmin(fabs(x), 16.0); }

// Far out the derivative is 0 times an overflow.
static double or_zero(double v) { return isfinite(v) ? v : 0; }

static kg_point gelu_erf(double x) {
    const double cdf = kg_normal_cdf(x), v = x * cdf;
    kg_point p = kg_point_make(v, or_zero(x * (cdf + x * kg_normal_pdf(x))));
    p.local += tail_slack(x);
    return p;
}

// 0.5 x (1 + tanh(c (x + 0.044715 x^3))) = x sigmoid(2 c (x + 0.044715 x^3)); the cancellation is the same.
static kg_point gelu_tanh(double x) {
    const double c = 0.79788456080286535588;  // sqrt(2/pi)
    const double z = 2.0 * c * (x + 0.044715 * x * x * x), s = kg_sigmoid(z), v = x * s;
    const double dz = 2.0 * c * (1.0 + 3.0 * 0.044715 * x * x);
    kg_point p = kg_point_make(v, or_zero(x * (s + x * s * kg_sigmoid(-z) * dz)));
    p.local += tail_slack(x);
    return p;
}

kg_point kg_gelu_point(double x, bool tanh_form) {
    // The limits: gelu(-inf) is -inf * 0. PyTorch and every formula above give NaN.
    if (isnan(x)) return kg_point_exact(x);
    if (isinf(x)) return kg_point_exact(x > 0 ? x : NAN);
    return tanh_form ? gelu_tanh(x) : gelu_erf(x);
}
