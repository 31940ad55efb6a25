// kgate: task=log entry=log_kernel
//
// Natural logarithm of each element; -infinity at 0, NaN below.
#include <kgate/kernel.h>
#include <math.h>

int log_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, log(x));
    }
    return 0;
}
