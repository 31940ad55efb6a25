// kgate: task=scatter
//
// First the copy, then every entry of index in row-major order writes its source.
#include <kgate/kernel.h>

int scatter(const DLTensor *input, int64_t dim, const DLTensor *index, const DLTensor *src, DLTensor *out) {
    const int64_t n = kg_elements(out), entries = kg_elements(index), along = dim < 0 ? dim + out->ndim : dim;
    for (int64_t i = 0; i < n; i++) kg_put(out, i, kg_get(input, i));
    for (int64_t i = 0; i < entries; i++) {
        const int64_t row = (int64_t)kg_get(index, i);
        int64_t rest = i, from = 0, to = 0;
        for (int d = out->ndim - 1; d >= 0; d--) {
            const int64_t at = rest % index->shape[d];
            rest /= index->shape[d];
            from += at * kg_stride(src, d);
            to += (d == along ? row : at) * kg_stride(out, d);
        }
        kg_put_at(out, to, kg_get_at(src, from));
    }
    return 0;
}
