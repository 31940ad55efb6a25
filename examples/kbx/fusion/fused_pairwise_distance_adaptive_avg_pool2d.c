/* kgate: task=fused_pairwise_distance_adaptive_avg_pool2d */
#include <kgate/kernel.h>
#include <math.h>

static double pooled(const DLTensor *in, int64_t plane, int64_t height, int64_t width, int64_t y, int64_t x) {
    const int64_t rows = kg_dim(in, -2), columns = kg_dim(in, -1);
    const int64_t top = y * rows / height, bottom = ((y + 1) * rows + height - 1) / height;
    const int64_t left = x * columns / width, right = ((x + 1) * columns + width - 1) / width;
    double sum = 0;
    for (int64_t r = top; r < bottom; r++)
        for (int64_t c = left; c < right; c++) sum += kg_get(in, (plane * rows + r) * columns + c);
    return sum / ((bottom - top) * (right - left));
}

/* The plane of in that meets this one of the broadcast images and channels. */
static int64_t own_plane(const DLTensor *in, int64_t image, int64_t channel) {
    const int64_t channels = kg_dim(in, -3);
    if (in->ndim < 4 || in->shape[0] == 1) image = 0;
    return image * channels + (channels == 1 ? 0 : channel);
}

int fused_pairwise_distance_adaptive_avg_pool2d(const DLTensor *x1, const DLTensor *x2, const kg_ints *output_size,
                                                double p, double eps, bool keepdim, DLTensor *out) {
    const int64_t height = output_size->v[0], width = output_size->v[output_size->n - 1];
    const int64_t channels = kg_dim(x1, -3) > kg_dim(x2, -3) ? kg_dim(x1, -3) : kg_dim(x2, -3);
    (void)keepdim;
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t y = i % height, channel = i / height % channels, image = i / (height * channels);
        double norm = 0;
        for (int64_t x = 0; x < width; x++) {
            const double a = pooled(x1, own_plane(x1, image, channel), height, width, y, x);
            const double b = pooled(x2, own_plane(x2, image, channel), height, width, y, x);
            const double d = fabs(a - b + eps);
            if (isinf(p)) norm = d > norm || isnan(d) ? d : norm;
            else norm += pow(d, p);
        }
        kg_put(out, i, isinf(p) ? norm : pow(norm, 1 / p));
    }
    return 0;
}
