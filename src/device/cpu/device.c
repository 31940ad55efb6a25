// The CPU as a device: values are computed straight into the arenas, on all cores.
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "device/cpu/cpu.h"

#define GRAIN ((size_t)64 << 10)

static int cpu_count(void) { return 1; }

static int cpu_open(int ordinal, kg_device **out, kg_error *err) {
    if (ordinal != 0) return kg_fail(err, KG_ERR_CANNOT, "no device cpu:%d here: use cpu", ordinal);
    kg_cpu_device *d = kg_alloc(sizeof *d);
    d->device.ops = &kg_cpu_device_ops;
    *out = &d->device;
    return 0;
}

static void cpu_close(kg_device *device) {
    kg_cpu_device *d = (kg_cpu_device *)device;
    if (d->from) kg_cpu_arena_destroy(d->from);
    if (d->to) kg_cpu_arena_destroy(d->to);
    free(d);
}

static int inside(const kg_cpu_arena *a, size_t offset, size_t bytes, kg_error *err) {
    if (offset <= a->bytes && bytes <= a->bytes - offset) return 0;
    return kg_fail(err, KG_ERR_INTERNAL, "%zu bytes at %zu lie outside an arena of %zu", bytes, offset, a->bytes);
}

static int extent_inside(const kg_cpu_arena *a, kg_extent e, kg_error *err) {
    if (e.count < 0 || (uint64_t)e.count > a->bytes)
        return kg_fail(err, KG_ERR_INTERNAL, "an extent of impossible size");
    return inside(a, e.offset, (size_t)e.count * kg_dtype_size(e.dtype), err);
}

typedef struct {
    const kg_fill *f;
    kg_dtype t;
    uint64_t seed;
    char *data;
} fill_job;

static int fill_piece(size_t first, size_t last, void *ctx) {
    const fill_job *j = ctx;
    kg_fill_range(j->f, j->t, j->seed, (int64_t)first, (int64_t)(last - first), j->data + first * kg_dtype_size(j->t));
    return 0;
}

static int cpu_fill(kg_arena *arena, kg_extent e, const kg_fill *f, uint64_t seed, kg_error *err) {
    kg_cpu_arena *a = (kg_cpu_arena *)arena;
    if (extent_inside(a, e, err)) return -1;
    fill_job j = {f, e.dtype, seed, a->data + e.offset};
    return kg_parallel((size_t)e.count, GRAIN, fill_piece, &j);
}

static int cpu_fill_at(kg_arena *arena, kg_extent e, size_t n, const int64_t *index, const kg_fill *f, uint64_t seed,
                       kg_error *err) {
    kg_cpu_arena *a = (kg_cpu_arena *)arena;
    if (extent_inside(a, e, err)) return -1;
    for (size_t i = 0; i < n; i++) {
        if (index[i] < 0 || index[i] >= e.count) return kg_fail(err, KG_ERR_INTERNAL, "a value outside a tensor");
        kg_fill_range(f, e.dtype, seed, index[i], 1, a->data + e.offset + (size_t)index[i] * kg_dtype_size(e.dtype));
    }
    return 0;
}

static int cpu_upload(kg_arena *arena, size_t offset, const void *data, size_t bytes, kg_error *err) {
    kg_cpu_arena *a = (kg_cpu_arena *)arena;
    if (inside(a, offset, bytes, err)) return -1;
    if (bytes) memcpy(a->data + offset, data, bytes);
    return 0;
}

static int cpu_download(kg_arena *arena, size_t offset, void *data, size_t bytes, kg_error *err) {
    const kg_cpu_arena *a = (const kg_cpu_arena *)arena;
    if (inside(a, offset, bytes, err)) return -1;
    if (bytes) memcpy(data, a->data + offset, bytes);
    return 0;
}

static int cpu_gather(kg_arena *arena, kg_extent e, size_t n, const int64_t *index, void *data, kg_error *err) {
    const kg_cpu_arena *a = (const kg_cpu_arena *)arena;
    size_t size = kg_dtype_size(e.dtype);
    if (extent_inside(a, e, err)) return -1;
    for (size_t i = 0; i < n; i++) {
        if (index[i] < 0 || index[i] >= e.count) return kg_fail(err, KG_ERR_INTERNAL, "gather outside a tensor");
        memcpy((char *)data + i * size, a->data + e.offset + (size_t)index[i] * size, size);
    }
    return 0;
}

typedef struct {
    const char *data;
    size_t size;
    char poison[8];
    _Atomic uint64_t found;
} poison_job;

static int poison_piece(size_t first, size_t last, void *ctx) {
    poison_job *j = ctx;
    uint64_t n = 0;
    for (size_t i = first; i < last; i++) n += memcmp(j->data + i * j->size, j->poison, j->size) == 0;
    j->found += n;
    return 0;
}

static int cpu_count_poison(kg_arena *arena, kg_extent e, uint64_t *n, kg_error *err) {
    const kg_cpu_arena *a = (const kg_cpu_arena *)arena;
    const kg_fill poison = {.kind = KG_FILL_POISON};
    if (extent_inside(a, e, err)) return -1;
    poison_job j = {.data = a->data + e.offset, .size = kg_dtype_size(e.dtype)};
    // The pattern is the same everywhere in a tensor.
    kg_fill_range(&poison, e.dtype, 0, 0, 1, j.poison);
    kg_parallel((size_t)e.count, GRAIN, poison_piece, &j);
    *n = j.found;
    return 0;
}

static int cpu_finish(kg_device *d, kg_error *err) {
    (void)d;
    (void)err;
    return 0;
}

const kg_device_ops kg_cpu_device_ops = {.kind = "cpu",
                                         .count = cpu_count,
                                         .open = cpu_open,
                                         .close = cpu_close,
                                         .describe = kg_cpu_describe,
                                         .arena_create = kg_cpu_arena_create,
                                         .arena_destroy = kg_cpu_arena_destroy,
                                         .arena_info = kg_cpu_arena_info,
                                         .trusted = kg_cpu_arena_trusted,
                                         .fill = cpu_fill,
                                         .fill_at = cpu_fill_at,
                                         .upload = cpu_upload,
                                         .download = cpu_download,
                                         .gather = cpu_gather,
                                         .count_poison = cpu_count_poison,
                                         .evict = kg_cpu_evict,
                                         .finish = cpu_finish,
                                         .judge_polls = false,
                                         .between_processes = 0.015,  // two cores shared with other machines
                                         .measure = kg_cpu_measure,
                                         .glance = kg_cpu_glance};
