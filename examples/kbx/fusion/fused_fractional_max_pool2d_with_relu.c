/* kgate: task=fused_fractional_max_pool2d_with_relu */
#include <kgate/kernel.h>
#include <math.h>

typedef struct {
    int64_t in, kernel, out;
    double u;
} dimension;

static int64_t start(const dimension *d, int64_t i) {
    if (i == d->out - 1) return d->in - d->kernel;
    const double alpha = (double)(d->in - d->kernel) / (double)(d->out - 1);
    return (int64_t)(((double)i + d->u) * alpha) - (int64_t)(d->u * alpha);
}

static int64_t pool(const DLTensor *input, int64_t plane, const dimension *h, const dimension *w, int64_t y, int64_t x,
                    double *most) {
    int64_t at = -1;
    for (int64_t k = y; k < y + h->kernel; k++)
        for (int64_t l = x; l < x + w->kernel; l++) {
            const double value = kg_get(input, (plane * h->in + k) * w->in + l);
            const double r = value > 0 || isnan(value) ? value : 0;
            if (at >= 0 && (r <= *most || isnan(*most))) continue;
            *most = r;
            at = k * w->in + l;
        }
    return at;
}

int fused_fractional_max_pool2d_with_relu(const DLTensor *input, const kg_ints *kernel_size, const kg_ints *output_size,
                                          const kg_floats *output_ratio, bool return_indices, int64_t seed,
                                          DLTensor *out, DLTensor *indices) {
    (void)output_size, (void)output_ratio;  // out has that shape
    const int64_t rows = kg_dim(out, -2), columns = kg_dim(out, -1), outputs = rows * columns;
    const int64_t planes = outputs ? kg_elements(out) / outputs : 0;
    for (int64_t t = 0; t < planes; t++) {
        const dimension h = {kg_dim(input, -2), kernel_size->v[0], rows, kg_uniform(seed, 2 * t)};
        const dimension w = {kg_dim(input, -1), kernel_size->v[kernel_size->n - 1], columns,
                             kg_uniform(seed, 2 * t + 1)};
        for (int64_t i = 0; i < outputs; i++) {
            double most = 0;
            const int64_t at = pool(input, t, &h, &w, start(&h, i / columns), start(&w, i % columns), &most);
            kg_put(out, t * outputs + i, most);
            if (return_indices) kg_put(indices, t * outputs + i, (double)at);
        }
    }
    return 0;
}
