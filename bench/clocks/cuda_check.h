#ifndef BENCH_CUDA_CHECK_H
#define BENCH_CUDA_CHECK_H

#include <cstdio>
#include <cstdlib>

// Ends the program with CUDA's words.
#define CHECK(x)                                                    \
    do {                                                            \
        cudaError_t e = (x);                                        \
        if (e) {                                                    \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); \
            exit(1);                                                \
        }                                                           \
    } while (0)

#endif
