// kgate: task=fused_gather_masked_fill
//
// One element after the other: value under the mask, else the element of input that index names.
#include <kgate/kernel.h>

static double gathered(const DLTensor *input, int64_t dim, const DLTensor *index, int64_t i) {
    const int64_t pick = (int64_t)kg_get(index, i);
    int64_t at = 0;
    for (int d = index->ndim - 1; d >= 0; d--) {
        at += (d == dim ? pick : i % index->shape[d]) * kg_stride(input, d);
        i /= index->shape[d];
    }
    return kg_get_at(input, at);
}

int fused_gather_masked_fill(const DLTensor *input, int64_t dim, const DLTensor *index, const DLTensor *mask,
                             double value, DLTensor *out) {
    const int64_t n = kg_elements(out);
    if (dim < 0) dim += out->ndim;
    for (int64_t i = 0; i < n; i++)
        kg_put(out, i, kg_get_broadcast(mask, out, i) != 0 ? value : gathered(input, dim, index, i));
    return 0;
}
