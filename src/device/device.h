// Devices behind one table of functions. The judge knows nothing else about a device; a new kind (OpenCL) is a
// new table in src/device/<kind>/ and a line in registry.c.
//
// Everything here runs in the judge's process, which the candidate never shares. Sizes are bytes, times seconds.
#ifndef KG_DEVICE_H
#define KG_DEVICE_H

#include "base/base.h"
#include "roofline/roofline.h"

typedef struct {
    char *kind;  // "cpu", "cuda"
    int ordinal;
    char *name;             // "NVIDIA H200", "AMD EPYC 9R14"
    char *driver;           // driver version; kernel release on the CPU
    char *arch;             // "sm_90"; "x86-64 avx512f"
    uint64_t memory_bytes;  // total
    uint64_t free_bytes;    // now
    uint64_t cache_bytes;   // last-level cache: what a cold measurement must evict
    int units;              // cores or multiprocessors
    double clock_hz;        // current, 0 when unknown
    char *notes;            // what limits clocks or power now, other processes; NULL when nothing to say
} kg_device_info;
void kg_device_info_free(kg_device_info *i);

typedef struct kg_device kg_device;
typedef struct kg_arena kg_arena;

// Memory that the judge owns and a runner maps: the values of a session's tensors.
typedef struct {
    size_t bytes;
    int fd;              // for SCM_RIGHTS; the arena keeps it open
    bool runner_writes;  // else the runner can map it read-only and no other way
} kg_arena_info;

// A piece of an arena holding one tensor's storage (as many elements as its span).
typedef struct {
    size_t offset;  // bytes, aligned to 512
    kg_dtype dtype;
    int64_t count;  // elements of storage
} kg_extent;

typedef struct kg_device_ops {
    const char *kind;
    int (*count)(void);  // how many are here; 0 when none
    int (*open)(int ordinal, kg_device **out, kg_error *err);
    void (*close)(kg_device *d);
    int (*describe)(kg_device *d, kg_device_info *out, kg_error *err);  // fresh reading; out owned by the caller

    int (*arena_create)(kg_device *d, size_t bytes, bool runner_writes, kg_arena **out, kg_error *err);
    void (*arena_destroy)(kg_arena *a);
    kg_arena_info (*arena_info)(const kg_arena *a);

    // The judge's own view of an arena that no runner can write; NULL where it can, or where there is none. Optional.
    const void *(*trusted)(const kg_arena *a);

    // Values straight into the arena, on the device. Bit-identical to kg_fill_range.
    int (*fill)(kg_arena *a, kg_extent e, const kg_fill *f, uint64_t seed, kg_error *err);
    // The same for n elements (storage indices) alone. Optional: where it is NULL all are filled.
    int (*fill_at)(kg_arena *a, kg_extent e, size_t n, const int64_t *index, const kg_fill *f, uint64_t seed,
                   kg_error *err);
    int (*upload)(kg_arena *a, size_t offset, const void *data, size_t bytes, kg_error *err);
    int (*download)(kg_arena *a, size_t offset, void *data, size_t bytes, kg_error *err);
    // Gathers n elements (storage indices, ascending) of an extent: data gets them densely.
    int (*gather)(kg_arena *a, kg_extent e, size_t n, const int64_t *index, void *data, kg_error *err);
    // Number of elements of the extent that still hold the poison pattern for this seed-free KG_FILL_POISON.
    int (*count_poison)(kg_arena *a, kg_extent e, uint64_t *n, kg_error *err);
    // Makes the first `bytes` of the arena cold: evicts them from the caches. Optional: NULL where the runner flushes
    // in the queue.
    int (*evict)(kg_arena *a, size_t bytes, kg_error *err);
    int (*finish)(kg_device *d, kg_error *err);  // waits for all of the above

    bool judge_polls;  // the done word is written by the device: poll it, futexes do not see it
    // By how much two processes that run the same kernel in the same memory differ, whatever is averaged: the largest
    // that A/A comparisons showed (bench/results/).
    double between_processes;
    // Measures every ceiling it can; what it cannot stays NAN. progress may be NULL.
    int (*measure)(kg_device *d, kg_ceilings *out, void (*progress)(const char *what, void *ctx), void *ctx,
                   kg_error *err);
    // A look of some milliseconds at how much of these ceilings the device gives right now; *alone: nothing else of
    // this system ran meanwhile. NULL where nothing else runs on it, so that they are in reach at any time.
    int (*glance)(kg_device *d, const kg_ceilings *best, kg_grant *out, bool *alone, kg_error *err);
} kg_device_ops;

struct kg_device {
    const kg_device_ops *ops;  // first member of every backend's own struct
    int ordinal;
};
struct kg_arena {
    kg_device *device;  // first member of every backend's own struct
};

extern const kg_device_ops kg_cpu_device_ops, kg_cuda_device_ops;

// "auto" (best present), "cpu", "cuda", "cuda:1". Fails with KG_ERR_CANNOT naming what is here instead.
int kg_device_open(const char *spec, kg_device **out, kg_error *err);
// Every device present, opened in turn. fn returns non-zero to stop.
void kg_device_each(int (*fn)(kg_device *d, void *ctx), void *ctx);

#endif
