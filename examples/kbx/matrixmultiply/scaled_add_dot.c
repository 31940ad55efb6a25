/* kgate: task=scaled_add_dot */
#include <kgate/kernel.h>

int scaled_add_dot(DLTensor *y, const DLTensor *x, double alpha, DLTensor *out) {
    double dot = 0;
    for (int64_t i = 0; i < kg_elements(y); i++) {
        kg_put(y, i, kg_get(y, i) + alpha * kg_get(x, i));
        dot += kg_get(y, i) * kg_get(y, i);
    }
    kg_put(out, 0, dot);
    return 0;
}
