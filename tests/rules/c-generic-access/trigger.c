#include <kgate/kernel.h>

int mul(const DLTensor *input, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, 2 * kg_get(input, i));
    return 0;
}
