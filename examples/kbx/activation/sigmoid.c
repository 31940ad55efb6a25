/* kgate: task=sigmoid */
#include <kgate/kernel.h>
#include <math.h>

int sigmoid(const DLTensor *input, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, 1 / (1 + exp(-kg_get(input, i))));
    return 0;
}
