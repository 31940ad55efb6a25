/* kgate: task=argmax
 *
 * Only a strictly larger value, or a first NaN, takes the place of the best so far.
 */
#include <kgate/kernel.h>
#include <math.h>

int argmax(const DLTensor *input, const int64_t *dim, bool keepdim, DLTensor *out) {
    (void)keepdim; /* the elements are the same */
    int64_t n = dim ? kg_dim(input, *dim) : kg_elements(input);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        double best = -INFINITY;
        int64_t found = 0;
        for (int64_t k = 0; k < n && !isnan(best); k++) {
            int64_t at = dim ? kg_line(input, *dim, i) + k * kg_stride(input, *dim) : kg_element(input, k);
            double x = kg_get_at(input, at);
            if (x <= best) continue;
            best = x;
            found = k;
        }
        kg_put(out, i, (double)found);
    }
    return 0;
}
