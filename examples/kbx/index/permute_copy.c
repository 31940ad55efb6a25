// kgate: task=permute_copy
//
// Element by element: the output is filled in order, and each element is read from where its coordinates lie in input.
#include <kgate/kernel.h>
#include <string.h>

int permute_copy(const DLTensor *input, const kg_ints *dims, DLTensor *out) {
    const int64_t n = kg_elements(out);
    const size_t size = (size_t)out->dtype.bits / 8;
    const char *from = (const char *)input->data + input->byte_offset;
    char *to = (char *)out->data + out->byte_offset;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0;
        for (int k = out->ndim - 1; k >= 0; k--) {
            const int64_t d = (dims->v[k] + out->ndim) % out->ndim;
            at += rest % out->shape[k] * kg_stride(input, d);
            rest /= out->shape[k];
        }
        memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
    }
    return 0;
}
