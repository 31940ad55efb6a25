// kgate: task=erf entry=erf_kernel
//
// Error function of each element.
#include <kgate/kernel.h>
#include <math.h>

int erf_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, erf(x));
    }
    return 0;
}
