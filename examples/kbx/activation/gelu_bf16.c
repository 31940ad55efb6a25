/* kgate: task=gelu_bf16 */
#include <kgate/kernel.h>
#include <math.h>

static double gelu_of(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

int gelu_bf16(const DLTensor *input, const char *approximate, DLTensor *out) {
    const bool by_tanh = kg_same(approximate, "tanh");
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, gelu_of(kg_get(input, i), by_tanh));
    return 0;
}
