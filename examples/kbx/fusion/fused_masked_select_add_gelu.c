// kgate: task=fused_masked_select_add_gelu
//
// One walk over the shape that input and mask broadcast to; each element that the mask lets through is finished at
// once.
#include <kgate/kernel.h>
#include <math.h>

static double gelu(double x, bool by_tanh) {
    if (by_tanh) return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

int fused_masked_select_add_gelu(const DLTensor *input, const DLTensor *mask, const DLTensor *other, double alpha,
                                 const char *approximate, DLTensor *out) {
    const int ndim = input->ndim > mask->ndim ? input->ndim : mask->ndim;
    int64_t shape[8], found = 0;
    for (int d = 0; d < ndim; d++) {
        const int x = d - (ndim - input->ndim), m = d - (ndim - mask->ndim);
        shape[d] = x >= 0 && (m < 0 || input->shape[x] != 1) ? input->shape[x] : mask->shape[m];
    }
    const DLTensor walk = {.ndim = ndim, .shape = shape};
    const bool by_tanh = kg_same(approximate, "tanh");
    for (int64_t k = 0; k < kg_elements(&walk); k++) {
        if (kg_get_broadcast(mask, &walk, k) == 0) continue;
        const double x = kg_get_broadcast(input, &walk, k), y = kg_get_broadcast(other, out, found);
        kg_put(out, found++, gelu(x + alpha * y, by_tanh));
    }
    return 0;
}
