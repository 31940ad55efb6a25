/* kgate: task=fused_mul_add_logsoftmax_dropout_bmm */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

// log_softmax of n numbers, `step` apart.
static void log_softmax(double *x, int64_t n, int64_t step) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, x[i * step]);
    for (int64_t i = 0; i < n; i++) sum += exp(x[i * step] - largest);
    for (int64_t i = 0; i < n; i++) x[i * step] -= largest + log(sum);
}

int fused_mul_add_logsoftmax_dropout_bmm(const DLTensor *input1, const DLTensor *input2, const DLTensor *other,
                                         const DLTensor *mat2, double p, bool training, bool inplace, int64_t dim,
                                         int64_t seed, DLTensor *out) {
    (void)inplace;
    const int64_t rows = kg_dim(out, 1), columns = kg_dim(out, 2), terms = kg_dim(mat2, 1);
    int64_t shape[3] = {kg_dim(out, 0), rows, terms}, stride[3] = {rows * terms, terms, 1};
    const DLTensor shaped = {.ndim = 3, .shape = shape};
    const int64_t all = shape[0] * rows * terms, step = stride[dim < 0 ? dim + 3 : dim];
    const int64_t n = shape[dim < 0 ? dim + 3 : dim];
    const double scale = training ? 1 / (1 - p) : 1;
    double *x = malloc(sizeof *x * (size_t)(all + 1));
    for (int64_t i = 0; i < all; i++)
        x[i] = kg_get_broadcast(input1, &shaped, i) * kg_get_broadcast(input2, &shaped, i) +
               kg_get_broadcast(other, &shaped, i);
    for (int64_t i = 0; i < all; i++)
        if (i / step % n == 0) log_softmax(x + i, n, step);
    for (int64_t i = 0; i < all; i++) {
        const bool dropped = training && kg_uniform(seed, i) < p;
        x[i] = dropped ? 0 : x[i] * scale;
    }
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t row = i / columns;
        double sum = 0;
        for (int64_t k = 0; k < terms; k++)
            sum += x[row * terms + k] * kg_get_at(mat2, row / rows * kg_stride(mat2, 0) + k * kg_stride(mat2, 1) +
                                                            i % columns * kg_stride(mat2, 2));
        kg_put(out, i, sum);
    }
    free(x);
    return 0;
}
