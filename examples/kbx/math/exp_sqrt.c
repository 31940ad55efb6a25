/* kgate: task=exp_sqrt */
#include <kgate/kernel.h>
#include <math.h>

int exp_sqrt(const DLTensor *input, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, sqrt(exp(kg_get(input, i))));
    return 0;
}
