/* kgate: task=index_select
 *
 * Elements are moved as bytes: 64-bit integers do not fit into a double.
 */
#include <kgate/kernel.h>
#include <string.h>

int index_select(const DLTensor *input, int64_t dim, const DLTensor *index, DLTensor *out) {
    int64_t size = input->dtype.bits / 8, n = kg_elements(index);
    int64_t others = n && kg_elements(out) ? kg_elements(out) / n : 0;
    const char *from = (const char *)input->data + input->byte_offset;
    char *to = (char *)out->data + out->byte_offset;
    if (input->ndim == 0) memcpy(to, from, (size_t)size);
    for (int64_t i = 0; i < n && input->ndim > 0; i++)
        for (int64_t k = 0; k < others; k++) {
            int64_t source = kg_line(input, dim, k) + (int64_t)kg_get(index, i) * kg_stride(input, dim);
            int64_t target = kg_line(out, dim, k) + i * kg_stride(out, dim);
            memcpy(to + target * size, from + source * size, (size_t)size);
        }
    return 0;
}
