// J1, by the C library in double.
#include <kgate/kernel.h>
#include <math.h>

int bessel_j1(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) kg_put(out, i, j1(kg_get(input, i)));
    return 0;
}
