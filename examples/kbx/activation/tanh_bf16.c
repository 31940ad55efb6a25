/* kgate: task=tanh_bf16 */
#include <kgate/kernel.h>
#include <math.h>

int tanh_bf16(const DLTensor *input, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, tanh(kg_get(input, i)));
    return 0;
}
