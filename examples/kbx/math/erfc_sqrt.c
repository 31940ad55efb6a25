// kgate: task=erfc_sqrt
//
// Complementary error function of each element, and its square root (NaN below zero).
#include <kgate/kernel.h>
#include <math.h>

int erfc_sqrt(const DLTensor *input, DLTensor *complement, DLTensor *root) {
    const int64_t n = kg_elements(input);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(complement, i, erfc(x));
        kg_put(root, i, sqrt(x));
    }
    return 0;
}
