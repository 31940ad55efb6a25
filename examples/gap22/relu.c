/* kgate: task=gap22/relu
 *
 * Written so that NaN, of which no comparison is true, stays NaN.
 */
#include <kgate/kernel.h>

int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace; /* out is input's own memory then */
    for (int64_t i = 0; i < kg_elements(out); i++) {
        double x = kg_get(input, i);
        kg_put(out, i, x <= 0 ? 0.0 : x);
    }
    return 0;
}
