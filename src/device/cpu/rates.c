// Arithmetic rates: as many independent multiply-adds in registers as hide the instruction's latency (4 cycles on two
// ports needs 8; 10 leaves room), in every instruction set this processor has.
#include <math.h>
#include <string.h>

#include "device/cpu/cpu.h"

#define CHAINS 10
#define ROUNDS 200000

typedef struct {
    void (*run)(int i, int n, void *ctx);
    double ops;  // of one run on one thread
} kernel;

#if defined(__x86_64__)
#include <immintrin.h>

// Each chain is a variable of its own: an array would live in memory. The asm stops the compiler from seeing that the
// chains are alike.
#define EACH_CHAIN(do) \
    do (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9)
#define DECLARE(k) register vector_type v##k = a;
#define KEEP(k)    __asm__ volatile("" : "+v"(v##k));
#define RATE_KERNEL(name, isa, vector, start, step)                                                          \
    __attribute__((target(isa))) static void name(int i, int n, void *ctx) {                                 \
        typedef vector vector_type;                                                                          \
        (void)i, (void)n, (void)ctx;                                                                         \
        vector a = start;                                                                                    \
        EACH_CHAIN(DECLARE)                                                                                  \
        for (int r = 0; r < ROUNDS; r++) {                                                                   \
            step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) EACH_CHAIN(KEEP) \
        }                                                                                                    \
    }

#define F32X16(k)  v##k = _mm512_fmadd_ps(v##k, a, a);
#define F64X8(k)   v##k = _mm512_fmadd_pd(v##k, a, a);
#define I8X64(k)   v##k = _mm512_dpbusd_epi32(v##k, a, a);
#define BF16X32(k) v##k = _mm512_dpbf16_ps(v##k, (__m512bh)a, (__m512bh)a);
#define F32X8(k)   v##k = _mm256_fmadd_ps(v##k, a, a);
#define F64X4(k)   v##k = _mm256_fmadd_pd(v##k, a, a);
#define F32X4(k)   v##k = _mm_add_ps(_mm_mul_ps(v##k, a), a);
#define F64X2(k)   v##k = _mm_add_pd(_mm_mul_pd(v##k, a), a);
RATE_KERNEL(f32_avx512, "avx512f", __m512, _mm512_set1_ps(0.5f), F32X16)
RATE_KERNEL(f64_avx512, "avx512f", __m512d, _mm512_set1_pd(0.5), F64X8)
RATE_KERNEL(i8_avx512, "avx512f,avx512vnni", __m512i, _mm512_set1_epi8(1), I8X64)
RATE_KERNEL(bf16_avx512, "avx512f,avx512bf16", __m512, _mm512_set1_ps(0.5f), BF16X32)
RATE_KERNEL(f32_avx2, "avx2,fma", __m256, _mm256_set1_ps(0.5f), F32X8)
RATE_KERNEL(f64_avx2, "avx2,fma", __m256d, _mm256_set1_pd(0.5), F64X4)
RATE_KERNEL(f32_sse, "sse2", __m128, _mm_set1_ps(0.5f), F32X4)
RATE_KERNEL(f64_sse, "sse2", __m128d, _mm_set1_pd(0.5), F64X2)

#define OPS(lanes) (2.0 * (lanes)*CHAINS * ROUNDS)

// Matrix tiles (AMX) are much faster than vectors, and not measured: no rate is better than one that an honest kernel
// beats. CPUID leaf 7, EDX bits 22 (bf16) and 25 (int8).
static bool has_tiles(void) {
    unsigned a = 7, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return d & (1u << 22 | 1u << 25);
}

static kernel best_f32(void) {
    if (__builtin_cpu_supports("avx512f")) return (kernel){f32_avx512, OPS(16)};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (kernel){f32_avx2, OPS(8)};
    return (kernel){f32_sse, OPS(4)};
}

static kernel best_f64(void) {
    if (__builtin_cpu_supports("avx512f")) return (kernel){f64_avx512, OPS(8)};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (kernel){f64_avx2, OPS(4)};
    return (kernel){f64_sse, OPS(2)};
}

// Without an instruction of its own, half precision is computed in float32.
static kernel best_f16(void) {
    if (has_tiles()) return (kernel){NULL, 0};
    if (__builtin_cpu_supports("avx512bf16")) return (kernel){bf16_avx512, OPS(32)};
    return best_f32();
}

static kernel best_i8(void) {
    if (has_tiles() || !__builtin_cpu_supports("avx512vnni")) return (kernel){NULL, 0};
    return (kernel){i8_avx512, OPS(64)};
}

#else

// Plain C: the compiler takes the vector unit that the architecture always has.
#define LANES 64
#define GENERIC_KERNEL(name, type)                                        \
    static void name(int i, int n, void *ctx) {                           \
        (void)i, (void)n, (void)ctx;                                      \
        type v[LANES], a = (type)0.5;                                     \
        for (int k = 0; k < LANES; k++) v[k] = a;                         \
        for (int r = 0; r < ROUNDS / 8; r++) {                            \
            __asm__ volatile("" : "+m"(a));                               \
            for (int k = 0; k < LANES; k++) v[k] = MULTIPLY_ADD(v[k], a); \
        }                                                                 \
        volatile type sink = v[0];                                        \
        (void)sink;                                                       \
    }
#ifdef __FP_FAST_FMA
#define MULTIPLY_ADD(x, a) ((sizeof(a) == 4) ? fmaf((float)(x), (float)(a), (float)(a)) : fma(x, a, a))
#else
#define MULTIPLY_ADD(x, a) ((x) * (a) + (a))
#endif
GENERIC_KERNEL(f32_plain, float)
GENERIC_KERNEL(f64_plain, double)
#define PLAIN_OPS (2.0 * LANES * (ROUNDS / 8))
static kernel best_f32(void) { return (kernel){f32_plain, PLAIN_OPS}; }
static kernel best_f64(void) { return (kernel){f64_plain, PLAIN_OPS}; }
static kernel best_f16(void) { return best_f32(); }
static kernel best_i8(void) { return (kernel){NULL, 0}; }
#endif

static kernel kernel_of(kg_unit unit) {
    switch (unit) {
    case KG_U_FP64: return best_f64();
    case KG_U_FP32:
    case KG_U_TF32: return best_f32();
    case KG_U_FP16: return best_f16();
    case KG_U_INT8: return best_i8();
    default: return (kernel){NULL, 0};
    }
}

double kg_cpu_rate(kg_unit unit, int n, bool *quiet) {
    kernel k = kernel_of(unit);
    // The first runs bring the clock up.
    return k.run ? k.ops * n / kg_cpu_least(n, k.run, NULL, 0.1, quiet) : NAN;
}
