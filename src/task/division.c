#include "task/division.h"

#include <float.h>
#include <string.h>

#include "task/pointwise.h"

kg_rounding kg_rounding_of(const kg_arg *mode) {
    if (mode->none || !mode->s) return KG_DIV_TRUE;
    return strcmp(mode->s, "trunc") == 0 ? KG_DIV_TRUNC : KG_DIV_FLOOR;
}

bool kg_may_divide(const kg_arg *divisor, kg_dtype t, kg_rounding rounding) {
    const kg_fill *f = &divisor->fill;
    if (rounding == KG_DIV_TRUE || kg_dtype_is_float(t)) return true;
    if (divisor->scalar) return divisor->f != 0;
    return f->kind == KG_FILL_INT && (f->a > 0 || f->b < 0);
}

kg_dtype kg_quotient_dtype(kg_dtype t, kg_rounding rounding) { return rounding == KG_DIV_TRUE ? kg_float_of(t) : t; }

// A denormal may be taken for zero (flush to zero), b's making an infinity.
static kg_point true_quotient(double a, double b) {
    const double v = a / b;
    if (!isfinite(v) || v == 0) return kg_point_exact(v);
    kg_point p = kg_point_make(v, v);
    if (kg_may_be_zero(b)) p.local = INFINITY;
    else if (kg_may_be_zero(a)) p.local += fabs(v) * 0x1p24;
    return p;
}

static double rounded(double q, kg_rounding r) {
    return r == KG_DIV_TRUE ? q : r == KG_DIV_TRUNC ? trunc(q) : floor(q);
}

// 0 by 0, where denormals are taken for zero.
static bool may_be_nan(double a, double b) {
    return (kg_may_be_zero(b) && (a == 0 || kg_may_be_zero(a))) || (b == 0 && kg_may_be_zero(a));
}

kg_point kg_quotient(double a, double b, const kg_division *d) {
    if (may_be_nan(a, b)) return (kg_point){rounded(a / b, d->rounding), KG_ANY_ANSWER};
    if (d->rounding == KG_DIV_TRUE) return true_quotient(a, b);
    const double q = a / b, u = kg_dtype_unit(d->dtype);
    if (!isfinite(q) || u == 0 || (fmod(a, b) == 0 && fabs(q) < 1 / u)) return kg_point_exact(rounded(q, d->rounding));
    if (fabs(b) < 0x1p-126) return (kg_point){rounded(q, d->rounding), INFINITY};
    const double error = 4 * u * fabs(q);
    const double low = rounded(q - error, d->rounding), high = rounded(q + error, d->rounding);
    // Near the largest float64 neither the sum nor the quotient by u may overflow.
    return (kg_point){0.5 * low + 0.5 * high, fmin(0.5 * (high - low) / u, DBL_MAX)};
}
