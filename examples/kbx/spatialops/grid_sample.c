// kgate: task=grid_sample
//
// Every output finds its position along each dimension, then adds up the elements around it with their weights.
#include <kgate/kernel.h>
#include <math.h>

typedef struct {
    bool nearest, cubic, border, reflection, align;
} options;

// Back inside, for the paddings that do so.
static double inside(double x, int64_t n, const options *o) {
    const double last = (double)(n - 1), low = o->align ? 0 : -0.5, high = o->align ? last : last + 0.5;
    if (o->reflection && high <= low) return 0;
    while (o->reflection && (x < low || x > high)) x = x < low ? 2 * low - x : 2 * high - x;
    if (o->border || o->reflection) x = x < 0 ? 0 : x > last ? last : x;
    return x;
}

static double cubic(double s) {
    const double a = -0.75;
    return s < 1 ? ((a + 2) * s - (a + 3)) * s * s + 1 : ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
}

// Sums over dimension d and those behind it; g holds the grid's entries, the last dimension's first.
static double sample(const DLTensor *input, int d, int64_t from, const double *g, const options *o) {
    if (d == input->ndim) return kg_get_at(input, from);
    const int64_t n = input->shape[d];
    const double unit = g[input->ndim - 1 - d];
    double at = o->align ? (unit + 1) / 2 * (double)(n - 1) : ((unit + 1) * (double)n - 1) / 2, sum = 0;
    if (!o->cubic) at = inside(at, n, o);
    const int64_t first = o->nearest ? (int64_t)rint(at) : (int64_t)floor(at) - o->cubic;
    for (int64_t x = first; x < first + (o->nearest ? 1 : o->cubic ? 4 : 2); x++) {
        const double s = fabs(at - (double)x), weight = o->nearest ? 1 : o->cubic ? cubic(s) : 1 - s;
        const int64_t k = o->cubic ? (int64_t)inside((double)x, n, o) : x;
        if (k >= 0 && k < n) sum += weight * sample(input, d + 1, from + k * kg_stride(input, d), g, o);
    }
    return sum;
}

int grid_sample(const DLTensor *input, const DLTensor *grid, const char *mode, const char *padding_mode,
                bool align_corners, DLTensor *out) {
    const options o = {kg_same(mode, "nearest"), kg_same(mode, "bicubic"), kg_same(padding_mode, "border"),
                       kg_same(padding_mode, "reflection"), align_corners};
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, point = 0;
        for (int d = out->ndim - 1; d >= 2; d--) {
            point += rest % out->shape[d] * kg_stride(grid, d - 1);
            rest /= out->shape[d];
        }
        const int64_t image = rest / out->shape[1], plane = rest % out->shape[1];
        double g[3] = {0, 0, 0};
        for (int d = 0; d < out->ndim - 2; d++)
            g[d] = kg_get_at(grid, point + image * kg_stride(grid, 0) + d * kg_stride(grid, -1));
        kg_put(out, i, sample(input, 2, image * kg_stride(input, 0) + plane * kg_stride(input, 1), g, &o));
    }
    return 0;
}
