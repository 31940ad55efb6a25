/* kgate: task=softmax
 *
 * Three passes over a line: the largest, the sum of exponentials, the quotients.
 */
#include <kgate/kernel.h>
#include <math.h>

int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out) {
    (void)dtype; /* out has it */
    if (kg_elements(out) == 0) return 0;
    int64_t n = kg_dim(input, dim), step = kg_stride(input, dim), out_step = kg_stride(out, dim);
    for (int64_t line = 0; line < kg_elements(out) / n; line++) {
        int64_t from = kg_line(input, dim, line), to = kg_line(out, dim, line);
        double largest = kg_get_at(input, from), sum = 0;
        for (int64_t k = 1; k < n; k++) largest = fmax(largest, kg_get_at(input, from + k * step));
        for (int64_t k = 0; k < n; k++) sum += exp(kg_get_at(input, from + k * step) - largest);
        for (int64_t k = 0; k < n; k++)
            kg_put_at(out, to + k * out_step, exp(kg_get_at(input, from + k * step) - largest) / sum);
    }
    return 0;
}
