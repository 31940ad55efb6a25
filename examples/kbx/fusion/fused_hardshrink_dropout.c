/* kgate: task=fused_hardshrink_dropout */
#include <kgate/kernel.h>

int fused_hardshrink_dropout(const DLTensor *input, double p, bool training, bool inplace, double lambd, int64_t seed,
                             DLTensor *out) {
    (void)inplace;
    const double scale = training ? 1 / (1 - p) : 1;
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const bool dropped = training && kg_uniform(seed, i) < p;
        const double x = dropped ? 0 : kg_get(input, i) * scale;
        kg_put(out, i, x > lambd || x < -lambd || x != x ? x : 0);
    }
    return 0;
}
