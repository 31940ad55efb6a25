// The part of cuBLASLt's binary interface that kgate uses. Checked against the real header by tests/cuda/abi_check.c.
// Source: cuBLAS library manual, 13.0, chapter "Using the cuBLASLt API".
#ifndef KG_CUBLASLT_ABI_H
#define KG_CUBLASLT_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *klt_handle;
typedef void *klt_opaque;  // a descriptor, made and freed by the library
typedef struct {
    uint64_t data[8];
} klt_algo;
typedef struct {
    klt_algo algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} klt_heuristic;

enum {
    KLT_OP_N = 0,
    KLT_OP_T = 1,
    KLT_R_32F = 0,
    KLT_R_64F = 1,
    KLT_R_16F = 2,
    KLT_R_8I = 3,
    KLT_R_32I = 10,
    KLT_R_16BF = 14,
    KLT_R_8F_E4M3 = 28,
    KLT_COMPUTE_32F = 68,
    KLT_COMPUTE_64F = 70,
    KLT_COMPUTE_32I = 72,
    KLT_COMPUTE_32F_FAST_TF32 = 77,
    KLT_DESC_TRANSA = 3,
    KLT_DESC_TRANSB = 4,
    KLT_DESC_EPILOGUE = 7,
    KLT_DESC_BIAS_POINTER = 8,
    KLT_DESC_A_SCALE_POINTER = 17,
    KLT_DESC_B_SCALE_POINTER = 18,
    KLT_DESC_FAST_ACCUM = 25,
    KLT_EPILOGUE_BIAS = 4,  // adds a vector, one value a row of the (column-major) result
    KLT_LAYOUT_BATCH_COUNT = 5,
    KLT_LAYOUT_BATCH_STEP = 6,  // elements
    KLT_PREF_MAX_WORKSPACE_BYTES = 1,
    KLT_PREF_ALIGNMENT_A = 5,  // bytes, and so the next three
    KLT_PREF_ALIGNMENT_B = 6,
    KLT_PREF_ALIGNMENT_C = 7,
    KLT_PREF_ALIGNMENT_D = 8
};

#endif
