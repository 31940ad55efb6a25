// The same function over a range, on as many threads as there are processors.
#ifndef KG_PARALLEL_H
#define KG_PARALLEL_H

#include <stddef.h>

// Calls fn(first, last, ctx) on disjoint pieces of at most `grain` items that together are [0, n). fn returns 0, or
// non-zero to stop early; the first non-zero is returned. Runs on the calling thread alone when n <= grain.
int kg_parallel(size_t n, size_t grain, int (*fn)(size_t first, size_t last, void *ctx), void *ctx);

#endif
