// kgate: task=fused_sub_gelu
//
// GELU of input - alpha * other, broadcast: x Phi(x), or the tanh formula that stands for it.
#include <kgate/kernel.h>
#include <math.h>

static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

int fused_sub_gelu(const DLTensor *input, const DLTensor *other, double alpha, const char *approximate, DLTensor *out) {
    const int64_t n = kg_elements(out);
    const bool by_tanh = kg_same(approximate, "tanh");
    for (int64_t i = 0; i < n; i++) {
        const double x = kg_get_broadcast(input, out, i), y = kg_get_broadcast(other, out, i);
        kg_put(out, i, gelu(x - alpha * y, by_tanh));
    }
    return 0;
}
