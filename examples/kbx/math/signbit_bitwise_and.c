// kgate: task=signbit_bitwise_and
//
// Two passes, since the AND broadcasts and the sign does not. Floating input is cut towards zero; to bool, it is != 0.
#include <kgate/kernel.h>
#include <math.h>

int signbit_bitwise_and(const DLTensor *input, const DLTensor *other, DLTensor *sign, DLTensor *bits) {
    const int64_t n = kg_elements(sign), m = kg_elements(bits);
    for (int64_t i = 0; i < n; i++) kg_put(sign, i, signbit(kg_get(input, i)) != 0);
    for (int64_t i = 0; i < m; i++) {
        const double x = kg_get_broadcast(input, bits, i);
        const int64_t cut = bits->dtype.code == kDLBool ? x != 0 : (int64_t)x;
        kg_put(bits, i, (double)(cut & (int64_t)kg_get_broadcast(other, bits, i)));
    }
    return 0;
}
