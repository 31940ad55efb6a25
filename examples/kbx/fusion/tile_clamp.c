/* kgate: task=tile_clamp */
#include <kgate/kernel.h>

/* Where element i of out comes from in input, dimensions aligned at the end. */
static int64_t source(const DLTensor *input, const DLTensor *out, int64_t i) {
    int64_t at = 0;
    for (int d = out->ndim - 1, k = input->ndim - 1; d >= 0; d--, k--) {
        if (k >= 0) at += i % out->shape[d] % input->shape[k] * kg_stride(input, k);
        i /= out->shape[d];
    }
    return at;
}

int tile_clamp(const DLTensor *input, const kg_ints *dims, const DLTensor *min, const DLTensor *max, DLTensor *out) {
    (void)dims; /* out's shape already is input's times dims */
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const double low = kg_get_broadcast(min, out, i), high = kg_get_broadcast(max, out, i);
        double x = kg_get_at(input, source(input, out, i));
        if (x < low) x = low; /* false for NaN */
        if (x > high) x = high;
        kg_put(out, i, x);
    }
    return 0;
}
