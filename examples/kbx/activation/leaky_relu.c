/* kgate: task=leaky_relu */
#include <kgate/kernel.h>

int leaky_relu(const DLTensor *input, double negative_slope, bool inplace, DLTensor *out) {
    (void)inplace; /* out is input itself then */
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, x > 0 ? x : negative_slope * x);
    }
    return 0;
}
