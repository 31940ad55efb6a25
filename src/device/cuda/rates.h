// Inside the room only: timing device work, and the matrix rates of cuBLASLt.
#ifndef KG_CUDA_RATES_H
#define KG_CUDA_RATES_H

#include "device/cuda/cuda_device.h"

// Enqueues one unit of work on the judge's stream.
typedef int (*kg_cuda_work)(void *ctx, kg_error *err);
// Best mean time of one unit over `windows` windows of about window_s seconds each, after a warm-up. Many in a row
// between two events: launching hides behind the unit before.
int kg_cuda_best_time(cuda_device *d, kg_cuda_work work, void *ctx, double window_s, int windows, double *seconds,
                      kg_error *err);

// Fills device memory with values of kg_fill (random data: products of zeros draw less power and run faster).
int kg_cuda_fill_memory(cuda_device *d, kcu_ptr p, kg_dtype t, uint64_t count, const kg_fill *f, kg_error *err);

// Operations a second of square products through cuBLASLt, by precision; NAN where it has none.
typedef struct {
    double fp64, fp32, tf32, bf16, fp16, fp8, int8;
    char *version;  // "cuBLASLt 13.1"; owned
} kg_blas_rates;
// loop_fp64, loop_fp32: rates of multiply-add loops, to choose sizes that end in time. KG_ERR_CANNOT: no cuBLASLt.
int kg_cuda_blas_rates(cuda_device *d, double loop_fp64, double loop_fp32,
                       void (*progress)(const char *what, void *ctx), void *ctx, kg_blas_rates *out, kg_error *err);

#endif
