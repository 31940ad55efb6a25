// kgate: task=asin entry=asin_kernel
//
// Arcsine of each element, in radians; NaN outside of [-1, 1].
#include <kgate/kernel.h>
#include <math.h>

int asin_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, asin(x));
    }
    return 0;
}
