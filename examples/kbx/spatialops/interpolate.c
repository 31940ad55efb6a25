// kgate: task=interpolate
//
// Along each dimension an output reads a few elements, with weights; all combinations are added up. Elements past an
// end are the last ones inside.
#include <kgate/kernel.h>
#include <math.h>

typedef struct {
    int64_t first, n;  // elements first .. first + n - 1
    double at;         // the position that their weights follow from
} taps;

static double weight_of(double distance, const char *mode, int64_t n) {
    const double s = fabs(distance), a = -0.75;
    if (kg_same(mode, "area")) return 1.0 / (double)n;
    if (kg_same(mode, "nearest") || kg_same(mode, "nearest-exact")) return 1;
    if (!kg_same(mode, "bicubic")) return 1 - s;
    return s < 1 ? ((a + 2) * s - (a + 3)) * s * s + 1 : ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
}

static taps taps_of(int64_t o, int64_t n, int64_t size, double scale, const char *mode, bool align_corners) {
    if (kg_same(mode, "area")) {
        const int64_t from = o * n / size, to = ((o + 1) * n + size - 1) / size;
        return (taps){from, to - from, 0};
    }
    if (kg_same(mode, "nearest")) return (taps){(int64_t)floor((double)o * scale), 1, 0};
    if (kg_same(mode, "nearest-exact")) return (taps){(int64_t)floor(((double)o + 0.5) * scale), 1, 0};
    const bool cubic = kg_same(mode, "bicubic");
    double at = ((double)o + 0.5) * scale - 0.5;
    if (align_corners) at = size > 1 ? (double)o * (double)(n - 1) / (double)(size - 1) : 0;
    else if (!cubic && at < 0) at = 0;
    return (taps){(int64_t)floor(at) - cubic, cubic ? 4 : 2, at};
}

// Dimension d and those behind it, from storage offset `from` on.
static double read(const DLTensor *input, const taps *t, int d, int64_t from, const char *mode) {
    if (d == input->ndim) return kg_get_at(input, from);
    const int64_t n = input->shape[d], step = kg_stride(input, d);
    double sum = 0;
    for (int64_t k = 0; k < t->n; k++) {
        const int64_t x = t->first + k, inside = x < 0 ? 0 : x >= n ? n - 1 : x;
        sum += weight_of(t->at - (double)x, mode, t->n) * read(input, t + 1, d + 1, from + inside * step, mode);
    }
    return sum;
}

int interpolate(const DLTensor *input, const kg_ints *size, const kg_floats *scale_factor, const char *mode,
                bool align_corners, DLTensor *out) {
    const int64_t n = kg_elements(out);
    (void)size;  // out has it already
    for (int64_t i = 0; i < n; i++) {
        taps t[3];
        int64_t rest = i;
        for (int d = out->ndim - 1; d >= 2; d--) {
            const int64_t from = input->shape[d], to = out->shape[d];
            const double scale = scale_factor ? 1 / scale_factor->v[d - 2] : (double)from / (double)to;
            t[d - 2] = taps_of(rest % to, from, to, scale, mode, align_corners);
            rest /= to;
        }
        const int64_t plane = rest % input->shape[1] * kg_stride(input, 1), image = rest / input->shape[1];
        kg_put(out, i, read(input, t, 2, image * kg_stride(input, 0) + plane, mode));
    }
    return 0;
}
