// kgate: task=trunc entry=trunc_kernel
//
// Each element without its fraction, towards zero; integers as they are.
#include <kgate/kernel.h>
#include <math.h>

int trunc_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, trunc(x));
    }
    return 0;
}
