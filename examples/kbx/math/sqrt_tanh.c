// kgate: task=sqrt_tanh
//
// Hyperbolic tangent of the square root of each element; NaN below zero.
#include <kgate/kernel.h>
#include <math.h>

int sqrt_tanh(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, tanh(sqrt(x)));
    }
    return 0;
}
