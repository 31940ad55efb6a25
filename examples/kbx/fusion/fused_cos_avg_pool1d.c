// kgate: task=fused_cos_avg_pool1d
//
// Each output adds up the cosines of the elements of its window that lie inside the input. It divides by their number,
// or by all that lie in the window, padding included; the last window may end before its full length.
#include <kgate/kernel.h>
#include <math.h>

int fused_cos_avg_pool1d(const DLTensor *input, int64_t kernel_size, const int64_t *stride, int64_t padding,
                         bool ceil_mode, bool count_include_pad, DLTensor *out) {
    const int64_t n = kg_elements(out), length = kg_dim(input, -1), width = kg_dim(out, -1);
    const int64_t step = stride ? *stride : kernel_size, end = length + padding;
    (void)ceil_mode;  // out's shape has it in
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i % width * step - padding, line = kg_line(input, -1, i / width);
        const int64_t last = first + kernel_size < end ? first + kernel_size : end;
        int64_t inside = 0;
        double sum = 0;
        for (int64_t k = first; k < last; k++) {
            if (k < 0 || k >= length) continue;
            sum += cos(kg_get_at(input, line + k * kg_stride(input, -1)));
            inside++;
        }
        kg_put(out, i, sum / (double)(count_include_pad ? last - first : inside));
    }
    return 0;
}
