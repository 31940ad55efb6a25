/* kgate: task=selu */
#include <kgate/kernel.h>
#include <math.h>

int selu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace; /* out is input itself then */
    const double scale = 1.0507009873554805, alpha = 1.6732632423543772;
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const double x = kg_get(input, i);
        kg_put(out, i, scale * (x > 0 ? x : alpha * expm1(x)));
    }
    return 0;
}
