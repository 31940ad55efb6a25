/* kgate: task=gelu_int8 */
#include <kgate/kernel.h>
#include <math.h>

static float gelu(float x, bool by_tanh) {
    if (by_tanh) return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

int gelu_int8(const DLTensor *input, const char *approximate, DLTensor *out) {
    const bool by_tanh = kg_same(approximate, "tanh");
    for (int64_t i = 0; i < kg_elements(out); i++)
        kg_put(out, i, (double)gelu((float)kg_get(input, i), by_tanh)); /* cut off towards zero */
    return 0;
}
