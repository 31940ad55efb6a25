/* kgate: task=fused_cosine_embedding_loss_with_normalization */
#include <kgate/kernel.h>
#include <math.h>

static double at(const DLTensor *x, int64_t row, int64_t k) {
    return kg_get_at(x, row * kg_stride(x, 0) + k * kg_stride(x, 1));
}

static double length(const DLTensor *x, int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < kg_dim(x, 1); k++) sum += at(x, row, k) * at(x, row, k);
    return sum < 1e-24 ? 1e-12 : sqrt(sum);
}

int fused_cosine_embedding_loss_with_normalization(const DLTensor *input1, const DLTensor *input2,
                                                   const DLTensor *target, double margin, const char *reduction,
                                                   DLTensor *out) {
    const int64_t rows = kg_dim(input1, 0);
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double a = length(input1, i), b = length(input2, i);
        double cosine = 0;
        for (int64_t k = 0; k < kg_dim(input1, 1); k++) cosine += at(input1, i, k) / a * (at(input2, i, k) / b);
        double loss = 1 - cosine;
        if (kg_get(target, i) != 1) loss = cosine - margin < 0 ? 0 : cosine - margin;
        if (kg_same(reduction, "none")) kg_put(out, i, loss);
        sum += loss;
    }
    if (kg_same(reduction, "mean")) sum /= rows;
    if (!kg_same(reduction, "none")) kg_put(out, 0, sum);
    return 0;
}
