// kgate: task=masked_select
//
// One walk over the shape that input and mask broadcast to: what the mask lets through goes to the next place of out.
#include <kgate/kernel.h>

int masked_select(const DLTensor *input, const DLTensor *mask, DLTensor *out) {
    const int ndim = input->ndim > mask->ndim ? input->ndim : mask->ndim;
    int64_t shape[8], found = 0;
    for (int d = 0; d < ndim; d++) {
        const int x = d - (ndim - input->ndim), m = d - (ndim - mask->ndim);
        shape[d] = x >= 0 && (m < 0 || input->shape[x] != 1) ? input->shape[x] : mask->shape[m];
    }
    const DLTensor walk = {.ndim = ndim, .shape = shape};
    for (int64_t k = 0; k < kg_elements(&walk); k++)
        if (kg_get_broadcast(mask, &walk, k) != 0) kg_put(out, found++, kg_get_broadcast(input, &walk, k));
    return 0;
}
