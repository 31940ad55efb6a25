// kgate: task=sub
//
// input - alpha * other, broadcast.
#include <kgate/kernel.h>

int sub(const DLTensor *input, const DLTensor *other, double alpha, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get_broadcast(input, out, i), y = kg_get_broadcast(other, out, i);
        kg_put(out, i, x - alpha * y);
    }
    return 0;
}
