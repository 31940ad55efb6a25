/* kgate: task=gather */
#include <kgate/kernel.h>

int gather(const DLTensor *input, int64_t dim, const DLTensor *index, DLTensor *out) {
    if (dim < 0) dim += out->ndim;
    for (int64_t i = 0; i < kg_elements(out); i++) {
        int64_t at = 0, rest = i;
        for (int d = out->ndim - 1; d >= 0; d--) {
            at += (d == dim ? (int64_t)kg_get(index, i) : rest % out->shape[d]) * kg_stride(input, d);
            rest /= out->shape[d];
        }
        kg_put(out, i, kg_get_at(input, at));
    }
    return 0;
}
