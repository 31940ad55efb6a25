/* kgate: task=fused_avg_pool2d_cosine_similarity */
#include <kgate/kernel.h>
#include <math.h>

static int64_t size_of(const DLTensor *a, const DLTensor *b, int d) {
    return kg_dim(a, d) == 1 ? kg_dim(b, d) : kg_dim(a, d);
}

static double at(const DLTensor *t, int64_t n, int64_t c, int64_t y, int64_t x) {
    const int64_t index[4] = {n, c, y, x};
    int64_t from = 0;
    for (int d = 0; d < 4; d++) from += (kg_dim(t, d) == 1 ? 0 : index[d]) * kg_stride(t, d);
    return kg_get_at(t, from);
}

static double similarity(const DLTensor *x1, const DLTensor *x2, double eps, int64_t n, int64_t y, int64_t x) {
    double dot = 0, first = 0, second = 0;
    for (int64_t c = 0; c < size_of(x1, x2, 1); c++) {
        const double a = at(x1, n, c, y, x), b = at(x2, n, c, y, x);
        dot += a * b, first += a * a, second += b * b;
    }
    first = sqrt(first), second = sqrt(second);
    return dot / ((first < eps ? eps : first) * (second < eps ? eps : second));
}

int fused_avg_pool2d_cosine_similarity(const DLTensor *x1, const DLTensor *x2, int64_t kernel_size,
                                       const int64_t *stride, int64_t padding, double eps, DLTensor *out) {
    const int64_t step = stride ? *stride : kernel_size, height = kg_dim(out, 2), width = kg_dim(out, 3);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t top = i / width % height * step - padding, left = i % width * step - padding;
        double sum = 0;
        for (int64_t y = top; y < top + kernel_size; y++)
            for (int64_t x = left; x < left + kernel_size; x++)
                if (y >= 0 && y < size_of(x1, x2, 2) && x >= 0 && x < size_of(x1, x2, 3))
                    sum += similarity(x1, x2, eps, i / (height * width), y, x);
        kg_put(out, i, sum / (kernel_size * kernel_size));
    }
    return 0;
}
