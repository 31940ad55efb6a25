// kgate's own device code (kernels.cu), loaded into a context. The program carries it as PTX where nvcc was there when
// kgate was built, which any driver of that toolkit's age or newer takes; otherwise, or when the driver refuses that
// PTX, NVRTC compiles the carried source for this device.
#ifndef KG_CUDA_KERNELS_H
#define KG_CUDA_KERNELS_H

#include "device/cuda/api/cuda_api.h"

// Function names in kernels.cu; those from KG_K_MMA_BF16 on exist on newer devices only and may be NULL.
typedef enum {
    KG_K_FILL_8,
    KG_K_FILL_16,
    KG_K_FILL_32,
    KG_K_FILL_64,
    KG_K_FILL_WORD,
    KG_K_GATHER,
    KG_K_COUNT_BITS,
    KG_K_RATE_READ,
    KG_K_RATE_WRITE,
    KG_K_RATE_COPY,
    KG_K_RATE_COPY_CACHED,
    KG_K_EMPTY,
    KG_K_RATE_FP32,
    KG_K_RATE_FP64,
    KG_K_RATE_INT,
    KG_K_RATE_SPECIAL,
    KG_K_TO_E4M3,
    KG_K_MMA_BF16,
    KG_K_MMA_FP16,
    KG_K_MMA_TF32,
    KG_K_MMA_INT8,
    KG_K_MMA_FP8,
    KG_K_COUNT
} kg_cuda_kernel;

typedef struct {
    kcu_module module;
    kcu_function fn[KG_K_COUNT];
    const char *from;  // "embedded PTX", "NVRTC"; static
} kg_cuda_kernels;

// fill_args of kernels.cu.
typedef struct {
    uint64_t seed, count, int_count;
    double int_first;
    float scale, shift;
    int32_t first_octave;
    uint32_t octaves, kind, dtype;
    uint64_t order;  // of matrices
    uint32_t pairs;
    uint32_t range, part;  // a and b of SHUFFLE and CHOICE
} kg_fill_args;

// cc: compute capability times ten (90). The context must be current.
int kg_cuda_kernels_load(const kg_cuda_api *api, int cc, kg_cuda_kernels *out, kg_error *err);

// Made by the build from kernels.cu (cmake/embed.cmake); PTX is "" where there was no nvcc.
extern const char kg_cuda_source[], kg_cuda_ptx_75[], kg_cuda_ptx_80[];

#endif
