// kgate: task=fused_repeat_interleave_log_softmax
//
// Line by line: the repeated elements are never stored, each one's exponential counts as often as it is repeated.
#include <kgate/kernel.h>
#include <math.h>

static int64_t times(const DLTensor *repeats, int64_t k) {
    return (int64_t)kg_get(repeats, kg_elements(repeats) == 1 ? 0 : k);
}

int fused_repeat_interleave_log_softmax(const DLTensor *input, const DLTensor *repeats, const int64_t *dim,
                                        const int64_t *output_size, const char *dtype, DLTensor *out) {
    (void)output_size, (void)dtype;  // out has both
    if (kg_elements(out) == 0) return 0;
    const bool flat = !dim;
    const int64_t along = dim ? *dim : 0, n = flat ? kg_elements(input) : kg_dim(input, along);
    const int64_t lines = kg_elements(out) / kg_dim(out, along);
    for (int64_t line = 0; line < lines; line++) {
        const int64_t from = flat ? 0 : kg_line(input, along, line), step = flat ? 1 : kg_stride(input, along);
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; k++) {
            const double x = flat ? kg_get(input, k) : kg_get_at(input, from + k * step);
            if (times(repeats, k) > 0 && !(x <= largest)) largest = x;
            if (isnan(x) && times(repeats, k) > 0) break;
        }
        for (int64_t k = 0; k < n; k++)
            if (times(repeats, k) > 0)
                sum += (double)times(repeats, k) *
                       exp((flat ? kg_get(input, k) : kg_get_at(input, from + k * step)) - largest);
        int64_t to = kg_line(out, along, line);
        for (int64_t k = 0; k < n; k++)
            for (int64_t r = 0; r < times(repeats, k); r++, to += kg_stride(out, along))
                kg_put_at(out, to, (flat ? kg_get(input, k) : kg_get_at(input, from + k * step)) - largest - log(sum));
    }
    return 0;
}
