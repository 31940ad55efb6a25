/* kgate: task=adaptive_avg_pool2d
 *
 * Output row i averages input rows floor(i H / S) up to ceil((i + 1) H / S), columns alike. The output's shape says S.
 */
#include <kgate/kernel.h>

typedef struct {
    int64_t from, to;
} window;

static window window_of(int64_t i, int64_t outputs, int64_t inputs) {
    return (window){i * inputs / outputs, ((i + 1) * inputs + outputs - 1) / outputs};
}

int adaptive_avg_pool2d(const DLTensor *input, const kg_ints *output_size, DLTensor *out) {
    (void)output_size;
    const int64_t height = kg_dim(out, -2), width = kg_dim(out, -1), H = kg_dim(input, -2), W = kg_dim(input, -1);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t plane = i / width / height;
        const window y = window_of(i / width % height, height, H), x = window_of(i % width, width, W);
        double sum = 0;
        for (int64_t r = y.from; r < y.to; r++)
            for (int64_t s = x.from; s < x.to; s++) sum += kg_get(input, (plane * H + r) * W + s);
        kg_put(out, i, sum / (double)((y.to - y.from) * (x.to - x.from)));
    }
    return 0;
}
