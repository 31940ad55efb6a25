// kgate: task=signbit entry=signbit_kernel
//
// Whether the sign bit of each element is set: x < 0 would miss -0.
#include <kgate/kernel.h>
#include <math.h>

int signbit_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) kg_put(out, i, signbit(kg_get(input, i)) != 0);
    return 0;
}
