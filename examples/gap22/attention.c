/* kgate: task=gap22/attention
 *
 * The recurrent form: a state of depth x width, to which every step adds k's outer product with v before q reads it.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

int attention(const DLTensor *q, const DLTensor *k, const DLTensor *v, const double *scale, DLTensor *out) {
    int64_t steps = kg_dim(q, -2), depth = kg_dim(q, -1), width = kg_dim(v, -1);
    double by = scale ? *scale : 1 / sqrt((double)depth);
    double *state = malloc((size_t)(depth * width) * sizeof *state + 1);
    if (!state) return 1;
    for (int64_t row = 0; row < kg_elements(v) / width; row++) {
        for (int64_t i = 0; row % steps == 0 && i < depth * width; i++) state[i] = 0;
        for (int64_t d = 0; d < width; d++) {
            double sum = 0;
            for (int64_t e = 0; e < depth; e++) {
                state[e * width + d] += kg_get(k, row * depth + e) * kg_get(v, row * width + d);
                sum += kg_get(q, row * depth + e) * state[e * width + d];
            }
            kg_put(out, row * width + d, by * sum);
        }
    }
    free(state);
    return 0;
}
