// kgate: task=avg_pool1d
//
// Each output adds up the elements of its window that lie inside the input, and divides by the window's length.
#include <kgate/kernel.h>

int avg_pool1d(const DLTensor *input, int64_t kernel_size, const int64_t *stride, int64_t padding, DLTensor *out) {
    const int64_t n = kg_elements(out), length = kg_dim(input, -1), width = kg_dim(out, -1);
    const int64_t step = stride ? *stride : kernel_size;
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i % width * step - padding, line = kg_line(input, -1, i / width);
        double sum = 0;
        for (int64_t k = first; k < first + kernel_size; k++)
            if (k >= 0 && k < length) sum += kg_get_at(input, line + k * kg_stride(input, -1));
        kg_put(out, i, sum / (double)kernel_size);
    }
    return 0;
}
