/* kgate: task=add */
#include <kgate/kernel.h>

int add(const DLTensor *input, const DLTensor *other, double alpha, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++)
        kg_put(out, i, kg_get_broadcast(input, out, i) + alpha * kg_get_broadcast(other, out, i));
    return 0;
}
