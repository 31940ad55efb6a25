/* kgate: task=fused_bmm_rmsnorm_gelu_dropout */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x / M_SQRT2);
}

static double dot(const DLTensor *a, const DLTensor *b, int64_t batch, int64_t row, int64_t column) {
    int64_t x = batch * kg_stride(a, 0) + row * kg_stride(a, 1), y = batch * kg_stride(b, 0) + column * kg_stride(b, 2);
    double sum = 0;
    for (int64_t k = 0; k < kg_dim(a, 2); k++, x += kg_stride(a, 2), y += kg_stride(b, 1))
        sum += kg_get_at(a, x) * kg_get_at(b, y);
    return sum;
}

int fused_bmm_rmsnorm_gelu_dropout(const DLTensor *input1, const DLTensor *input2, const kg_ints *normalized_shape,
                                   double dropout_p, double eps, bool training, const char *approximate, int64_t seed,
                                   DLTensor *out) {
    const int64_t rows = kg_dim(out, 1), columns = kg_dim(out, 2), all = kg_elements(out);
    const bool by_tanh = kg_same(approximate, "tanh");
    int64_t block = 1;
    for (int64_t d = 0; d < normalized_shape->n; d++) block *= normalized_shape->v[d];
    double *z = malloc(sizeof *z * (size_t)(block + 1));
    const double scale = training ? 1 / (1 - dropout_p) : 1;
    for (int64_t first = 0; first < all; first += block) {
        double squares = 0;
        for (int64_t k = 0; k < block; k++) {
            const int64_t i = first + k;
            z[k] = dot(input1, input2, i / (rows * columns), i / columns % rows, i % columns);
            squares += z[k] * z[k];
        }
        const double rms = sqrt(squares / (double)block + eps);
        for (int64_t k = 0; k < block; k++) {
            const int64_t i = first + k;
            const bool dropped = training && kg_uniform(seed, i) < dropout_p;
            const double y = dropped ? 0 : gelu(z[k] / rms, by_tanh) * scale;
            kg_put(out, i, y);
        }
    }
    free(z);
    return 0;
}
