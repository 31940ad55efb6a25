// kgate: task=relu
// ReLU beside so much arithmetic that its time follows the number of rounds: bench/aa plants a slowdown by EXTRA ones.
#include <kgate/kernel.h>

#define EXTRA  0
#define ROUNDS (400 + EXTRA)
#define BLOCK  64

// The sum of a series, which no answer depends on: it is bounded by 2 and what was put in, so it is never beyond 1e30
// unless x is: then the answer is infinite, as x.
static void work(float *v, int rounds, float half, float one) {
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < BLOCK; k++) v[k] = v[k] * half + one;
}

static void blocks(const float *x, float *y, int64_t n, int rounds, float half, float one) {
    for (int64_t at = 0; at < n; at += BLOCK) {
        float v[BLOCK] = {0};
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t k = 0; k < m; k++) v[k] = x[at + k];
        work(v, rounds, half, one);
        for (int64_t k = 0; k < m; k++) {
            const float a = x[at + k];
            y[at + k] = v[k] > 1e30f ? v[k] : a > 0 || a != a ? a : 0;
        }
    }
}

int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace;  // then out is the input
    // Unknown to the compiler, so that every variant is the same code: it unrolls 400 rounds otherwise than 413.
    static volatile float half = 0.5f, one = 1.0f;
    static volatile int rounds = ROUNDS;
    const bool plain = input->dtype.code == kDLFloat && input->dtype.bits == 32;
    const int64_t n = kg_elements(input);
    if (plain && kg_contiguous(input) && kg_contiguous(out)) {
        blocks((const float *)((const char *)input->data + input->byte_offset),
               (float *)((char *)out->data + out->byte_offset), n, rounds, half, one);
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const double v = kg_get(input, i);
        kg_put(out, i, v > 0 || v != v ? v : 0);
    }
    return 0;
}
