// Multiply-adds whose operands come from the caches: what a product's inner loop does with packed panels. A panel of B
// lies in the second-level cache, and each thread has its own.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define DEPTH 1024  // steps along a panel
#define ROWS  5     // of A a step: with two vectors of B as many chains as hide the latency, and few enough registers
#define WALKS 400   // some two milliseconds

// Widest vectors there are: 2 * 64 bytes of B a step.
#define PANEL_FLOATS (DEPTH * (ROWS + 32))

#define WALK(name, attribute, lanes, vec, load, repeat, multiply_add)                                    \
    attribute static void name(int i, int n, void *ctx) {                                                \
        (void)n;                                                                                         \
        const float *panel = (const float *)ctx + (size_t)i * PANEL_FLOATS;                              \
        vec v[2 * ROWS];                                                                                 \
        _Pragma("GCC unroll 10") for (int m = 0; m < 2 * ROWS; m++) v[m] = repeat(0.0f);                 \
        for (int r = 0; r < WALKS; r++) {                                                                \
            const float *a = panel, *b = a + DEPTH * ROWS;                                               \
            for (int k = 0; k < DEPTH; k++, a += ROWS, b += 2 * (lanes)) {                               \
                const vec b0 = load(b), b1 = load(b + (lanes));                                          \
                _Pragma("GCC unroll 5") for (int m = 0; m < ROWS; m++) {                                 \
                    const vec am = repeat(a[m]);                                                         \
                    v[m] = multiply_add(am, b0, v[m]);                                                   \
                    v[ROWS + m] = multiply_add(am, b1, v[ROWS + m]);                                     \
                }                                                                                        \
            }                                                                                            \
        }                                                                                                \
        _Pragma("GCC unroll 10") for (int m = 0; m < 2 * ROWS; m++) __asm__ volatile("" : : USED(v[m])); \
    }

typedef struct {
    void (*run)(int i, int n, void *ctx);
    double ops;  // of one run on one thread
} walk;
#define OPS(lanes) (2.0 * 2 * ROWS * (lanes)*DEPTH * WALKS)

#if defined(__x86_64__)
#define USED(v)          "x"(v)
#define SSE_FMA(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
WALK(walk_avx512, __attribute__((target("avx512f"))), 16, __m512, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps)
WALK(walk_avx2, __attribute__((target("avx2,fma"))), 8, __m256, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps)
WALK(walk_sse, , 4, __m128, _mm_loadu_ps, _mm_set1_ps, SSE_FMA)

static walk best(void) {
    if (__builtin_cpu_supports("avx512f")) return (walk){walk_avx512, OPS(16)};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (walk){walk_avx2, OPS(8)};
    return (walk){walk_sse, OPS(4)};
}
#else
typedef float four __attribute__((vector_size(16)));
#define USED(v)               "m"(v)
#define LOAD(p)               (*(const four *)(p))
#define REPEAT(x)             ((four){x, x, x, x})
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
WALK(walk_4, , 4, four, LOAD, REPEAT, MULTIPLY_ADD)
static walk best(void) { return (walk){walk_4, OPS(4)}; }
#endif

// Zeros, all touched.
static float *panels(int n) {
    const size_t bytes = (size_t)n * PANEL_FLOATS * sizeof(float);
    float *p = NULL;
    if (posix_memalign((void **)&p, 4096, (bytes + 4095) / 4096 * 4096)) return NULL;
    memset(p, 0, bytes);
    return p;
}

double kg_cpu_fed_rate(int n, bool *undisturbed) {
    float *p = panels(n);
    *undisturbed = false;
    if (!p) return NAN;
    const walk w = best();
    double s = kg_cpu_together(n, w.run, p, undisturbed);
    free(p);
    return s > 0 ? w.ops * n / s : NAN;
}
