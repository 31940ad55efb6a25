/* kgate: task=mul_int8 */
#include <kgate/kernel.h>

int mul_int8(const DLTensor *input, const DLTensor *other, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int product = (int)kg_get_broadcast(input, out, i) * (int)kg_get_broadcast(other, out, i);
        kg_put(out, i, (int8_t)(product % 256)); /* wraps around */
    }
    return 0;
}
