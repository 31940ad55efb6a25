// kgate: task=fused_hstack_div
//
// Each tensor's part of the stack is divided in turn. Seen from the stacked dimension, a tensor is `rows` blocks of
// `block` elements, and so is its part of out, further on by `before` elements in rows of `width`.
#include <kgate/kernel.h>
#include <math.h>

static double rounded(double q, const char *mode) {
    if (kg_same(mode, "trunc")) return trunc(q);
    return kg_same(mode, "floor") ? floor(q) : q;
}

int fused_hstack_div(const DLTensor *tensors, const DLTensor *tensors_2, const DLTensor *tensors_3,
                     const DLTensor *divisor, const char *rounding_mode, DLTensor *out) {
    const DLTensor *piece[] = {tensors, tensors_2, tensors_3};
    const int dim = out->ndim == 1 ? 0 : 1;
    int64_t width = 1, before = 0;
    for (int d = dim; d < out->ndim; d++) width *= out->shape[d];
    for (int k = 0; k < 3 && piece[k]; k++) {
        const int64_t n = kg_elements(piece[k]), rows = dim ? out->shape[0] : 1, block = rows ? n / rows : 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t to = i / block * width + before + i % block;
            const double q = kg_get(piece[k], i) / kg_get_broadcast(divisor, out, to);
            kg_put(out, to, rounded(q, rounding_mode));
        }
        before += block;
    }
    return 0;
}
