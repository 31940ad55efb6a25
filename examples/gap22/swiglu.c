/* kgate: task=gap22/swiglu
 *
 * The first half of a row is gated by silu and scales the second.
 */
#include <kgate/kernel.h>
#include <math.h>

int swiglu(const DLTensor *xy, DLTensor *out) {
    int64_t n = kg_dim(out, -1);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        int64_t at = i / n * 2 * n + i % n;
        double x = kg_get(xy, at), y = kg_get(xy, at + n);
        kg_put(out, i, x / (1 + exp(-x)) * y);
    }
    return 0;
}
