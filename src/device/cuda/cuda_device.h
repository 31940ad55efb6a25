// Inside the room only: a CUDA device as the judge holds it.
#ifndef KG_CUDA_DEVICE_H
#define KG_CUDA_DEVICE_H

#include "device/cuda/api/cuda_api.h"
#include "device/cuda/kernels.h"
#include "device/device.h"

typedef struct {
    kg_device base;  // first
    kg_cuda_api api;
    kcu_device dev;
    kcu_context context;      // primary, retained
    kcu_stream stream;        // the judge's own: never waits for the legacy stream
    kg_cuda_kernels kernels;  // loaded at first use
    int cc, sms;
    char bus_id[32];
    size_t granularity;  // of arenas
    kcu_ptr scratch;     // GATHER_CHUNK indices and their elements, then one counter
} cuda_device;

#define CUDA_CHECK(d, call, what, err)                                                    \
    do {                                                                                  \
        if (kg_cuda_check(&(d)->api, (call), KG_ERR_INTERNAL, what, err) != 0) return -1; \
    } while (0)

// Makes the context current on this thread.
int kg_cuda_enter(cuda_device *d, kg_error *err);
// Enters and loads the device code.
int kg_cuda_ready(cuda_device *d, kg_error *err);
// Blocks of 256 threads on the judge's stream. params: addresses of the kernel's parameters.
int kg_cuda_launch(cuda_device *d, kg_cuda_kernel k, uint64_t blocks, void **params, kg_error *err);

int kg_cuda_describe(kg_device *d, kg_device_info *out, kg_error *err);
int kg_cuda_measure(kg_device *d, kg_ceilings *out, void (*progress)(const char *what, void *ctx), void *ctx,
                    kg_error *err);

#endif
