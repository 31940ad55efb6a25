/* kgate: task=softmax
 *
 * Right, and slow: walks the tensor column by column, so that neighbours in time are a whole row apart in memory, on
 * one core, with a call of exp twice per element.
 */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out) {
    (void)dtype;
    if (kg_elements(out) == 0) return 0;
    int64_t n = kg_dim(input, dim), lines = kg_elements(out) / n, xs = kg_stride(input, dim), ys = kg_stride(out, dim);
    double *most = malloc((size_t)lines * sizeof *most), *total = calloc((size_t)lines, sizeof *total);
    if (most && total) {
        for (int64_t l = 0; l < lines; l++) most[l] = -INFINITY;
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < lines; l++)
                most[l] = fmax(most[l], kg_get_at(input, kg_line(input, dim, l) + i * xs));
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < lines; l++)
                total[l] += exp(kg_get_at(input, kg_line(input, dim, l) + i * xs) - most[l]);
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < lines; l++)
                kg_put_at(out, kg_line(out, dim, l) + i * ys,
                          exp(kg_get_at(input, kg_line(input, dim, l) + i * xs) - most[l]) / total[l]);
    }
    int failed = !most || !total;
    free(most);
    free(total);
    return failed;
}
