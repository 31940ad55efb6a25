// kgate: task=fused_cos_signbit
//
// Cosine of each element, and whether its sign bit is set.
#include <kgate/kernel.h>
#include <math.h>

int fused_cos_signbit(const DLTensor *input, DLTensor *cosine, DLTensor *sign) {
    const int64_t n = kg_elements(input);
    for (int64_t i = 0; i < n; i++) {
        const double y = cos(kg_get(input, i));
        kg_put(cosine, i, y);
        kg_put(sign, i, signbit(y) != 0);
    }
    return 0;
}
