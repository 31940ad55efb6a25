// Makes an arena cold. On x86 line by line: a flush works on the physical line, so it empties the caches of the core
// that the runner uses too. Elsewhere by reading a buffer twice as large as the last-level cache.
#include <stdlib.h>

#include "base/parallel.h"
#include "device/cpu/cpu.h"

#define GRAIN ((size_t)1 << 20)

#if defined(__x86_64__)
#include <immintrin.h>

#define LINE 64

__attribute__((target("clflushopt"))) static void flush_many(const char *p, size_t n) {
    for (size_t i = 0; i < n; i += LINE) _mm_clflushopt((void *)(uintptr_t)(p + i));
    _mm_mfence();
}

static void flush_one_by_one(const char *p, size_t n) {
    for (size_t i = 0; i < n; i += LINE) _mm_clflush(p + i);
    _mm_mfence();
}

static bool has_clflushopt(void) {
    unsigned a = 7, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return b >> 23 & 1;  // leaf 7, EBX bit 23 (Intel SDM vol. 2A, CPUID)
}

static int flush_piece(size_t first, size_t last, void *ctx) {
    const kg_cpu_arena *a = ctx;
    if (has_clflushopt()) flush_many(a->data + first, last - first);
    else flush_one_by_one(a->data + first, last - first);
    return 0;
}

int kg_cpu_evict(kg_arena *arena, size_t bytes, kg_error *err) {
    (void)err;
    kg_cpu_arena *a = (kg_cpu_arena *)arena;
    return kg_parallel(bytes < a->bytes ? bytes : a->bytes, GRAIN, flush_piece, a);
}

#else

static int touch_piece(size_t first, size_t last, void *ctx) {
    volatile char *p = ctx;
    for (size_t i = first; i < last; i += 64) p[i] = (char)(p[i] + 1);
    return 0;
}

int kg_cpu_evict(kg_arena *arena, size_t bytes, kg_error *err) {
    (void)arena;
    (void)bytes;
    size_t all = 2 * (size_t)kg_cpu_cache_bytes();
    char *p = malloc(all);
    if (!p) return kg_fail(err, KG_ERR_MEMORY, "a buffer of %zu bytes to empty the caches", all);
    int r = kg_parallel(all, GRAIN, touch_piece, p);
    free(p);
    return r;
}
#endif
