// The CPU backend's parts.
#ifndef KG_CPU_H
#define KG_CPU_H

#include "device/device.h"

typedef struct {
    kg_device device;
    kg_arena *from, *to;  // that glances copy; NULL until the first
} kg_cpu_device;

typedef struct {
    kg_arena arena;
    size_t bytes;
    int fd;         // the judge's own
    int shared_fd;  // for the runner: read-only unless it may write
    char *data;     // the judge's mapping, always writable
    bool runner_writes;
} kg_cpu_arena;

int kg_cpu_arena_create(kg_device *d, size_t bytes, bool runner_writes, kg_arena **out, kg_error *err);
void kg_cpu_arena_destroy(kg_arena *a);
kg_arena_info kg_cpu_arena_info(const kg_arena *a);
const void *kg_cpu_arena_trusted(const kg_arena *a);
int kg_cpu_evict(kg_arena *a, size_t bytes, kg_error *err);

int kg_cpu_describe(kg_device *d, kg_device_info *out, kg_error *err);
int kg_cpu_threads(void);           // processors this process may run on
uint64_t kg_cpu_cache_bytes(void);  // last-level cache; 32 MiB when the system does not say

int kg_cpu_measure(kg_device *d, kg_ceilings *out, void (*progress)(const char *what, void *ctx), void *ctx,
                   kg_error *err);

// Runs fn(i, n, ctx) on n threads at once, each on a processor of its own; returns the wall time of the slowest from
// the common start, or -1 when the threads cannot be had. n == 1 runs pinned too. *undisturbed (may be NULL): every
// thread had its processor to itself.
double kg_cpu_together(int n, void (*fn)(int i, int n, void *ctx), void *ctx, bool *undisturbed);
// Runs that often enough for a best: for budget_s, and longer while others keep the processors busy. The least time of
// the undisturbed runs, seconds; of all runs when there was none, and then *quiet
// becomes false. NAN when the threads cannot be had.
double kg_cpu_least(int n, void (*fn)(int i, int n, void *ctx), void *ctx, double budget_s, bool *quiet);
// Operations per second (a multiply-add counts two) of one arithmetic unit with n threads; NAN where this processor
// has no such instruction.
double kg_cpu_rate(kg_unit unit, int n, bool *quiet);
// The same of float32 multiply-adds whose operands come from the caches, as a product's do, seen once, within some two
// milliseconds: others on the same core slow these more than those on registers. NAN when there is no memory or there
// are no threads for it.
double kg_cpu_fed_rate(int n, bool *undisturbed);

int kg_cpu_glance(kg_device *d, const kg_ceilings *best, kg_grant *out, bool *alone, kg_error *err);

#endif
