// kgate: task=div entry=div_kernel
//
// input / other, broadcast. The quotient is taken in double, which holds it exactly enough to be rounded to an integer.
#include <kgate/kernel.h>
#include <math.h>

int div_kernel(const DLTensor *input, const DLTensor *other, const char *rounding_mode, DLTensor *out) {
    const int64_t n = kg_elements(out);
    const bool cut = kg_same(rounding_mode, "trunc"), down = kg_same(rounding_mode, "floor");
    for (int64_t i = 0; i < n; i++) {
        const double q = kg_get_broadcast(input, out, i) / kg_get_broadcast(other, out, i);
        kg_put(out, i, cut ? trunc(q) : down ? floor(q) : q);
    }
    return 0;
}
