#include <kgate/kernel.h>
#include <math.h>

int task(const DLTensor *input, DLTensor *out) {
    const float *x = kg_data(input);
    float *y = kg_data(out);
    int64_t n = kg_dim(input, -1), rows = kg_elements(input) / n;
    float *line = malloc((size_t)n * sizeof *line);
    for (int64_t r = 0; r < rows; r++) work(line, x + r * n, y + r * n, n);
    free(line);
    return 0;
}
