// Bandwidth of two buffers of `bytes` each with n threads, bytes per second; a copy counts what it reads and writes.
// *quiet becomes false when others kept the processors busy throughout.
#ifndef KG_CPU_STREAM_H
#define KG_CPU_STREAM_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    double read, write, copy;
} kg_cpu_bandwidth;
kg_cpu_bandwidth kg_cpu_stream(char *a, char *b, size_t bytes, int n, bool *quiet);
// One copy from b to a, around the caches, bytes per second; negative when the threads cannot be had. *undisturbed:
// every thread had its processor to itself.
double kg_cpu_copy_now(char *a, char *b, size_t bytes, int n, bool *undisturbed);
// The buffers fit the last-level cache together.
double kg_cpu_cached_copy(char *a, char *b, size_t bytes, int n, bool *quiet);

#endif
