// kgate: task=grid_sample_with_affine
//
// Every output pixel finds the place in the input that theta sends it to, then adds up the pixels around it.
#include <kgate/kernel.h>
#include <math.h>

typedef struct {
    bool nearest, cubic, border, reflection, align;
} options;

// The pixels read along one dimension, -1 for none, and their weights.
typedef struct {
    int n;
    int64_t at[4];
    double weight[4];
} taps;

static double inside(double x, int64_t n, const options *o) {
    const double last = (double)(n - 1), low = o->align ? 0 : -0.5, high = o->align ? last : last + 0.5;
    if (o->reflection && high <= low) return 0;
    while (o->reflection && (x < low || x > high)) x = x < low ? 2 * low - x : 2 * high - x;
    if (o->border || o->reflection) x = x < 0 ? 0 : x > last ? last : x;
    return x;
}

static double weight_of(double s, const options *o) {
    const double a = -0.75;
    if (o->nearest) return 1;
    if (!o->cubic) return 1 - s;
    return s < 1 ? ((a + 2) * s - (a + 3)) * s * s + 1 : ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
}

static taps taps_of(double unit, int64_t n, const options *o) {
    taps t = {o->nearest ? 1 : o->cubic ? 4 : 2, {0}, {0}};
    double at = o->align ? (unit + 1) / 2 * (double)(n - 1) : ((unit + 1) * (double)n - 1) / 2;
    if (!o->cubic) at = inside(at, n, o);
    const double first = o->nearest ? rint(at) : floor(at) - (o->cubic ? 1 : 0);
    for (int k = 0; k < t.n; k++) {
        const double x = first + k, from = o->cubic ? inside(x, n, o) : x;
        t.weight[k] = weight_of(fabs(at - x), o);
        t.at[k] = from < 0 || from > (double)(n - 1) ? -1 : (int64_t)from;
    }
    return t;
}

static double unit_of(int64_t i, int64_t n, bool align) {
    if (n == 1) return 0;
    return align ? 2.0 * (double)i / (double)(n - 1) - 1 : (2.0 * (double)i + 1) / (double)n - 1;
}

int grid_sample_with_affine(const DLTensor *input, const DLTensor *theta, const kg_ints *size, const char *mode,
                            const char *padding_mode, bool align_corners, DLTensor *out) {
    const options o = {kg_same(mode, "nearest"), kg_same(mode, "bicubic"), kg_same(padding_mode, "border"),
                       kg_same(padding_mode, "reflection"), align_corners};
    const int64_t n = kg_elements(out), channels = size->v[1], height = size->v[2], width = size->v[3];
    for (int64_t i = 0; i < n; i++) {
        const double u = unit_of(i % width, width, align_corners),
                     v = unit_of(i / width % height, height, align_corners);
        const int64_t plane = i / (width * height), image = plane / channels;
        double g[2];
        for (int r = 0; r < 2; r++) {
            const int64_t row = (image * 2 + r) * 3;
            g[r] = kg_get(theta, row) * u + kg_get(theta, row + 1) * v + kg_get(theta, row + 2);
        }
        const taps x = taps_of(g[0], kg_dim(input, 3), &o), y = taps_of(g[1], kg_dim(input, 2), &o);
        const int64_t start = image * kg_stride(input, 0) + plane % channels * kg_stride(input, 1);
        double sum = 0;
        for (int j = 0; j < y.n; j++)
            for (int k = 0; k < x.n; k++)
                if (y.at[j] >= 0 && x.at[k] >= 0)
                    sum += y.weight[j] * x.weight[k] *
                           kg_get_at(input, start + y.at[j] * kg_stride(input, 2) + x.at[k] * kg_stride(input, 3));
        kg_put(out, i, sum);
    }
    return 0;
}
