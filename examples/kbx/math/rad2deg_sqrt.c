// kgate: task=rad2deg_sqrt
//
// Each element from radians to degrees, and its square root (NaN below zero).
#include <kgate/kernel.h>
#include <math.h>

int rad2deg_sqrt(const DLTensor *input, DLTensor *degrees, DLTensor *root) {
    const int64_t n = kg_elements(input);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get(input, i);
        kg_put(degrees, i, x * (180.0 / 3.14159265358979323846));
        kg_put(root, i, sqrt(x));
    }
    return 0;
}
