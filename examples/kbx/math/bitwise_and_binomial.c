/* kgate: task=bitwise_and_binomial */
#include <kgate/kernel.h>
#include <math.h>

// Bernoulli trials, one by one; trial k of element i is number 65536 i + k of the call's stream.
static int64_t draw(int64_t n, double p, int64_t seed, int64_t i) {
    int64_t successes = 0;
    for (int64_t k = 0; k < n; k++) successes += kg_uniform(seed, 65536 * i + k) < p;
    return successes;
}

int bitwise_and_binomial(const DLTensor *input, const DLTensor *other, const DLTensor *total_count,
                         const DLTensor *probs, const DLTensor *logits, int64_t seed, DLTensor *out) {
    (void)total_count;
    const int64_t all = kg_elements(out);
    for (int64_t i = 0; i < all; i++) {
        const int64_t n = (int64_t)kg_get_broadcast(input, out, i) & (int64_t)kg_get_broadcast(other, out, i);
        const double p = probs ? kg_get_broadcast(probs, out, i) : 1 / (1 + exp(-kg_get_broadcast(logits, out, i)));
        kg_put(out, i, (double)draw(n, p, seed, i));
    }
    return 0;
}
