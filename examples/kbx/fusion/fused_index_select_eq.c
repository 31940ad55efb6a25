// kgate: task=fused_index_select_eq
//
// Each output finds its place in the selection (where a length of one broadcasts), then in input, and compares.
#include <kgate/kernel.h>

static double selected(const DLTensor *input, int64_t dim, const DLTensor *index, const DLTensor *out, int64_t i) {
    int64_t at = 0;
    for (int d = out->ndim - 1, k = input->ndim - 1; k >= 0; d--, k--) {
        int64_t x = i % out->shape[d];
        i /= out->shape[d];
        if ((k == dim ? kg_elements(index) : input->shape[k]) == 1) x = 0;
        at += (k == dim ? (int64_t)kg_get(index, x) : x) * kg_stride(input, k);
    }
    return kg_get_at(input, at);
}

int fused_index_select_eq(const DLTensor *input, int64_t dim, const DLTensor *index, const DLTensor *other,
                          DLTensor *out) {
    const int64_t n = kg_elements(out);
    if (dim < 0) dim += input->ndim;
    for (int64_t i = 0; i < n; i++)
        kg_put(out, i, selected(input, dim, index, out, i) == kg_get_broadcast(other, out, i));
    return 0;
}
