// kgate: task=pow entry=pow_kernel
//
// input to the power exponent, broadcast; a double holds the integers' powers too.
#include <kgate/kernel.h>
#include <math.h>

int pow_kernel(const DLTensor *input, const DLTensor *exponent, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get_broadcast(input, out, i), y = kg_get_broadcast(exponent, out, i);
        kg_put(out, i, pow(x, y));
    }
    return 0;
}
