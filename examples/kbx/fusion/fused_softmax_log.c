/* kgate: task=fused_softmax_log
 *
 * exp(log x) is x: each element over the sum of its line. Scaled by the largest, so that no sum overflows.
 */
#include <kgate/kernel.h>
#include <math.h>

int fused_softmax_log(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out) {
    (void)dtype; /* out's */
    if (kg_elements(out) == 0) return 0;
    const int64_t n = kg_dim(input, dim), step = kg_stride(input, dim);
    for (int64_t line = 0; line * n < kg_elements(out); line++) {
        const int64_t first = kg_line(input, dim, line), to = kg_line(out, dim, line);
        double largest = 0, sum = 0;
        for (int64_t k = 0; k < n; k++) {
            const double x = kg_get_at(input, first + k * step);
            largest = x < 0 || x != x ? NAN : fmax(largest, x) + 0 * largest;
        }
        for (int64_t k = 0; k < n; k++) sum += kg_get_at(input, first + k * step) / largest;
        for (int64_t k = 0; k < n; k++)
            kg_put_at(out, to + k * kg_stride(out, dim), kg_get_at(input, first + k * step) / largest / sum);
    }
    return 0;
}
