/* kgate: task=gap22/matrix_transpose
 *
 * Elements are moved as bytes: 64-bit integers do not fit into a double.
 */
#include <kgate/kernel.h>
#include <string.h>

int matrix_transpose(const DLTensor *input, DLTensor *out) {
    int64_t rows = kg_dim(input, 0), columns = kg_dim(input, 1), size = input->dtype.bits / 8;
    const char *from = (const char *)input->data + input->byte_offset;
    char *to = (char *)out->data + out->byte_offset;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + (j * rows + i) * size, from + (i * kg_stride(input, 0) + j * kg_stride(input, 1)) * size,
                   (size_t)size);
    return 0;
}
