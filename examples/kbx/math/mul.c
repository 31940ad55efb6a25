/* kgate: task=mul */
#include <kgate/kernel.h>

int mul(const DLTensor *input, const DLTensor *other, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++)
        kg_put(out, i, kg_get_broadcast(input, out, i) * kg_get_broadcast(other, out, i));
    return 0;
}
