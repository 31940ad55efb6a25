// kgate: task=cos entry=cos_kernel
//
// Cosine of each element, in radians; NaN at the infinities.
#include <kgate/kernel.h>
#include <math.h>

int cos_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, cos(x));
    }
    return 0;
}
