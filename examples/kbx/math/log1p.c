/* kgate: task=log1p entry=log1p_kernel */
#include <kgate/kernel.h>
#include <math.h>

int log1p_kernel(const DLTensor *input, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, log1p(kg_get(input, i)));
    return 0;
}
