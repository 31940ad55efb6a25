/* kgate: task=max */
#include <kgate/kernel.h>

int max(const DLTensor *input, int64_t dim, bool keepdim, DLTensor *max, DLTensor *max_indices) {
    (void)keepdim; /* the outputs have that shape already */
    const int64_t step = kg_stride(input, dim);
    for (int64_t i = 0; i < kg_elements(max); i++) {
        const int64_t line = kg_line(input, dim, i);
        double best = kg_get_at(input, line);
        int64_t found = 0;
        for (int64_t k = 1; k < kg_dim(input, dim) && best == best; k++) { /* NaN ends the search */
            const double x = kg_get_at(input, line + k * step);
            if (x <= best) continue;
            best = x;
            found = k;
        }
        kg_put(max, i, best);
        kg_put(max_indices, i, (double)found);
    }
    return 0;
}
