/* kgate: task=conv2d
 *
 * Every output's window, term by term; what lies outside the image is zero.
 */
#include <kgate/kernel.h>

/* The value for dimension d of an argument that is one int for both, or two. */
static int64_t of(const kg_ints *a, int d) { return a->v[d < a->n ? d : a->n - 1]; }

typedef struct {
    int64_t image, filter, group, row, column;
} place;

static double window(const DLTensor *input, const DLTensor *weight, const kg_ints *dilation, place at) {
    double sum = 0;
    for (int64_t c = 0; c < kg_dim(weight, 1); c++)
        for (int64_t r = 0; r < kg_dim(weight, 2); r++)
            for (int64_t s = 0; s < kg_dim(weight, 3); s++) {
                int64_t y = at.row + r * of(dilation, 0), x = at.column + s * of(dilation, 1);
                if (y < 0 || y >= kg_dim(input, -2) || x < 0 || x >= kg_dim(input, -1)) continue;
                int64_t channel = at.group * kg_dim(weight, 1) + c;
                int64_t from = (input->ndim == 4 ? at.image * kg_stride(input, 0) : 0) +
                               channel * kg_stride(input, -3) + y * kg_stride(input, -2) + x * kg_stride(input, -1);
                sum += kg_get_at(input, from) *
                       kg_get_at(weight, at.filter * kg_stride(weight, 0) + c * kg_stride(weight, 1) +
                                             r * kg_stride(weight, 2) + s * kg_stride(weight, 3));
            }
    return sum;
}

int conv2d(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, const kg_ints *stride,
           const kg_ints *padding, const kg_ints *dilation, int64_t groups, DLTensor *out) {
    int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), filters = kg_dim(out, -3);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        int64_t plane = i / (width * height), filter = plane % filters;
        place at = {.image = plane / filters,
                    .filter = filter,
                    .group = filter / (filters / groups),
                    .row = i / width % height * of(stride, 0) - of(padding, 0),
                    .column = i % width * of(stride, 1) - of(padding, 1)};
        double sum = window(input, weight, dilation, at);
        kg_put(out, i, sum + (bias ? kg_get(bias, filter) : 0));
    }
    return 0;
}
