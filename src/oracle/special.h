// Special functions with the error an honest kernel may make: values by GSL, or by the C library in long double.
//
// Conditions are |x f'(x)|; where kernels commonly reach the value through larger numbers (reflection, a phase), the
// comment at the function says what is charged for it. The answer is for dtype `out`: where that is float64 GSL's own
// error estimate is charged as well.
#ifndef KG_SPECIAL_H
#define KG_SPECIAL_H

#include "oracle/oracle.h"

kg_point kg_i0_point(double x, kg_dtype out);
kg_point kg_gammaln_point(double x);
kg_point kg_polygamma_point(int n, double x, kg_dtype out);  // n = 0: digamma
kg_point kg_zeta_point(double s, double q, kg_dtype out);    // Hurwitz, with PyTorch's (Cephes') answers where s <= 1
kg_point kg_j1_point(double x, kg_dtype out);
kg_point kg_airy_ai_point(double x, kg_dtype out);
kg_point kg_chebyshev_t_point(double x, double n);

#endif
