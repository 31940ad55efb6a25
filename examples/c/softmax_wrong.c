/* kgate: task=softmax
 *
 * Wrong: the maximum is not subtracted. Fine for small values; from about 89 on, e^x is infinity in float32 and the
 * quotient NaN.
 */
#include <kgate/kernel.h>
#include <math.h>

int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out) {
    (void)dtype;
    if (kg_elements(out) == 0) return 0;
    int64_t n = kg_dim(input, dim), xs = kg_stride(input, dim), ys = kg_stride(out, dim);
    for (int64_t l = 0; l < kg_elements(out) / n; l++) {
        int64_t x = kg_line(input, dim, l), y = kg_line(out, dim, l);
        float total = 0;
        for (int64_t i = 0; i < n; i++) total += expf((float)kg_get_at(input, x + i * xs));
        for (int64_t i = 0; i < n; i++) kg_put_at(out, y + i * ys, expf((float)kg_get_at(input, x + i * xs)) / total);
    }
    return 0;
}
