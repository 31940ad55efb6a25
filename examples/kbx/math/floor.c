// kgate: task=floor entry=floor_kernel
//
// The largest integer not above each element; integers as they are.
#include <kgate/kernel.h>
#include <math.h>

int floor_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, floor(x));
    }
    return 0;
}
