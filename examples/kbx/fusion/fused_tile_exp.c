// kgate: task=fused_tile_exp
//
// Element (i, j, ...) of out comes from element (i mod rows, j mod columns, ...) of input, dimensions aligned at the
// end.
#include <kgate/kernel.h>
#include <math.h>

static int64_t source(const DLTensor *input, const DLTensor *out, int64_t i) {
    int64_t at = 0;
    for (int d = out->ndim - 1, k = input->ndim - 1; d >= 0; d--, k--) {
        if (k >= 0) at += i % out->shape[d] % input->shape[k] * kg_stride(input, k);
        i /= out->shape[d];
    }
    return at;
}

int fused_tile_exp(const DLTensor *input, const kg_ints *dims, DLTensor *out) {
    const int64_t n = kg_elements(out);
    (void)dims;  // out's shape already is input's times dims
    for (int64_t i = 0; i < n; i++) kg_put(out, i, exp(kg_get_at(input, source(input, out, i))));
    return 0;
}
