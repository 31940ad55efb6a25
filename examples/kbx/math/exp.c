/* kgate: task=exp entry=exp_kernel */
#include <kgate/kernel.h>
#include <math.h>

int exp_kernel(const DLTensor *input, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, exp(kg_get(input, i)));
    return 0;
}
