// Bandwidth: plain walks over memory of the kind that candidates get (shared memory, whatever its page size), far
// larger than the caches. Writes go both ways, through the caches and around them; the faster one counts.
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "device/cpu/stream.h"

typedef struct {
    char *to;
    const char *from;
    size_t bytes;
} walk;

// The piece of thread i of n, in whole lines of 64 bytes.
static walk piece(const walk *w, int i, int n) {
    size_t lines = w->bytes / 64, first = lines * (size_t)i / (size_t)n, last = lines * ((size_t)i + 1) / (size_t)n;
    return (walk){w->to + first * 64, w->from + first * 64, (last - first) * 64};
}

#if defined(__x86_64__)
#include <emmintrin.h>

static void read_all(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    __m128i s[4] = {0};
    for (size_t at = 0; at < w.bytes; at += 64)
        for (int k = 0; k < 4; k++) s[k] = _mm_xor_si128(s[k], ((const __m128i *)(w.from + at))[k]);
    for (int k = 0; k < 4; k++) __asm__ volatile("" : : "x"(s[k]));
}

static void write_around(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    const __m128i v = _mm_set1_epi8(1);
    for (size_t at = 0; at < w.bytes; at += 64)
        for (int k = 0; k < 4; k++) _mm_stream_si128((__m128i *)(w.to + at) + k, v);
    _mm_sfence();
}

static void copy_around(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    for (size_t at = 0; at < w.bytes; at += 64)
        for (int k = 0; k < 4; k++) _mm_stream_si128((__m128i *)(w.to + at) + k, ((const __m128i *)(w.from + at))[k]);
    _mm_sfence();
}
#else
static void read_all(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    uint64_t s = 0;
    for (size_t at = 0; at < w.bytes / 8; at++) s ^= ((const uint64_t *)w.from)[at];
    __asm__ volatile("" : : "r"(s));
}

static void write_around(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    memset(w.to, 1, w.bytes);
}

static void copy_around(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    memcpy(w.to, w.from, w.bytes);
}
#endif

static void write_through(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    memset(w.to, 2, w.bytes);
}

static void copy_through(int i, int n, void *ctx) {
    walk w = piece(ctx, i, n);
    // In parts below the size from which the C library goes around the caches itself.
    for (size_t at = 0; at < w.bytes; at += 65536)
        memcpy(w.to + at, w.from + at, w.bytes - at < 65536 ? w.bytes - at : 65536);
}

#define BUDGET_S 0.1

// Bytes per second.
static double best_rate(int threads, void (*fn)(int, int, void *), walk *w, double counted, bool *quiet) {
    return counted / kg_cpu_least(threads, fn, w, BUDGET_S, quiet);
}

static double larger(double a, double b) { return a > b ? a : b; }

kg_cpu_bandwidth kg_cpu_stream(char *a, char *b, size_t bytes, int n, bool *quiet) {
    walk w = {a, b, bytes};
    size_t whole_lines = bytes / 64 * 64;
    double size = (double)whole_lines;
    kg_cpu_bandwidth r;
    r.read = best_rate(n, read_all, &w, size, quiet);
    r.write = larger(best_rate(n, write_around, &w, size, quiet), best_rate(n, write_through, &w, size, quiet));
    r.copy = larger(best_rate(n, copy_around, &w, 2 * size, quiet), best_rate(n, copy_through, &w, 2 * size, quiet));
    return r;
}

typedef struct {
    walk w;
    int repeats;
} hot_walk;

static void copy_again(int i, int n, void *ctx) {
    const hot_walk *h = ctx;
    walk w = piece(&h->w, i, n);
    for (int r = 0; r < h->repeats; r++) {
        memcpy(w.to, w.from, w.bytes);
        __asm__ volatile("" : : : "memory");
    }
}

double kg_cpu_cached_copy(char *a, char *b, size_t bytes, int n, bool *quiet) {
    hot_walk h = {{a, b, bytes}, 8};
    return 2.0 * (double)bytes * h.repeats / kg_cpu_least(n, copy_again, &h, BUDGET_S / 2, quiet);
}

double kg_cpu_copy_now(char *a, char *b, size_t bytes, int n, bool *undisturbed) {
    walk w = {a, b, bytes};
    const size_t whole_lines = bytes / 64 * 64;
    return 2.0 * (double)whole_lines / kg_cpu_together(n, copy_around, &w, undisturbed);
}
