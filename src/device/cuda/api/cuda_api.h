// libcuda, opened when present. One table of the driver's functions, used by the judge's device and by the runner.
#ifndef KG_CUDA_API_H
#define KG_CUDA_API_H

#include "base/base.h"
#include "device/cuda/api/cuda_abi.h"

// KG_CUDA_FN(name in the table, exported symbol, older symbol or "", parameters). The symbol is the one that today's
// cuda.h maps the plain name to; without per-thread-default-stream variants, so stream NULL is the legacy stream.
#define KG_CUDA_FUNCTIONS(KG_CUDA_FN)                                                                                 \
    KG_CUDA_FN(Init, "cuInit", "", (unsigned flags))                                                                  \
    KG_CUDA_FN(DriverGetVersion, "cuDriverGetVersion", "", (int *version))                                            \
    KG_CUDA_FN(GetErrorName, "cuGetErrorName", "", (kcu_result r, const char **text))                                 \
    KG_CUDA_FN(DeviceGetCount, "cuDeviceGetCount", "", (int *n))                                                      \
    KG_CUDA_FN(DeviceGet, "cuDeviceGet", "", (kcu_device * d, int ordinal))                                           \
    KG_CUDA_FN(DeviceGetName, "cuDeviceGetName", "", (char *name, int len, kcu_device d))                             \
    KG_CUDA_FN(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", "", (char *id, int len, kcu_device d))                       \
    KG_CUDA_FN(DeviceGetAttribute, "cuDeviceGetAttribute", "", (int *v, int attribute, kcu_device d))                 \
    KG_CUDA_FN(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", "", (kcu_context * c, kcu_device d))               \
    KG_CUDA_FN(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", (kcu_device d))  \
    KG_CUDA_FN(CtxSetCurrent, "cuCtxSetCurrent", "", (kcu_context c))                                                 \
    KG_CUDA_FN(CtxSynchronize, "cuCtxSynchronize", "", (void))                                                        \
    KG_CUDA_FN(MemGetInfo, "cuMemGetInfo_v2", "", (size_t * free_bytes, size_t * total))                              \
    KG_CUDA_FN(MemAlloc, "cuMemAlloc_v2", "", (kcu_ptr * p, size_t bytes))                                            \
    KG_CUDA_FN(MemFree, "cuMemFree_v2", "", (kcu_ptr p))                                                              \
    KG_CUDA_FN(MemHostRegister, "cuMemHostRegister_v2", "", (void *p, size_t bytes, unsigned flags))                  \
    KG_CUDA_FN(MemHostUnregister, "cuMemHostUnregister", "", (void *p))                                               \
    KG_CUDA_FN(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", "", (kcu_ptr * d, void *p, unsigned flags))   \
    KG_CUDA_FN(MemsetD8Async, "cuMemsetD8Async", "", (kcu_ptr p, unsigned char v, size_t n, kcu_stream s))            \
    KG_CUDA_FN(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", "", (kcu_ptr d, const void *h, size_t n, kcu_stream s))       \
    KG_CUDA_FN(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", "", (void *h, kcu_ptr d, size_t n, kcu_stream s))             \
    KG_CUDA_FN(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", "", (kcu_ptr d, kcu_ptr from, size_t n, kcu_stream s))        \
    KG_CUDA_FN(MemGetAllocationGranularity, "cuMemGetAllocationGranularity", "",                                      \
               (size_t * bytes, const kcu_mem_prop *prop, int option))                                                \
    KG_CUDA_FN(MemCreate, "cuMemCreate", "",                                                                          \
               (kcu_mem_handle * h, size_t bytes, const kcu_mem_prop *prop, unsigned long long flags))                \
    KG_CUDA_FN(MemRelease, "cuMemRelease", "", (kcu_mem_handle h))                                                    \
    KG_CUDA_FN(MemAddressReserve, "cuMemAddressReserve", "",                                                          \
               (kcu_ptr * p, size_t bytes, size_t align, kcu_ptr hint, unsigned long long flags))                     \
    KG_CUDA_FN(MemAddressFree, "cuMemAddressFree", "", (kcu_ptr p, size_t bytes))                                     \
    KG_CUDA_FN(MemMap, "cuMemMap", "",                                                                                \
               (kcu_ptr p, size_t bytes, size_t offset, kcu_mem_handle h, unsigned long long flags))                  \
    KG_CUDA_FN(MemUnmap, "cuMemUnmap", "", (kcu_ptr p, size_t bytes))                                                 \
    KG_CUDA_FN(MemSetAccess, "cuMemSetAccess", "", (kcu_ptr p, size_t bytes, const kcu_mem_access *access, size_t n)) \
    KG_CUDA_FN(MemExportToShareableHandle, "cuMemExportToShareableHandle", "",                                        \
               (void *out, kcu_mem_handle h, int type, unsigned long long flags))                                     \
    KG_CUDA_FN(MemImportFromShareableHandle, "cuMemImportFromShareableHandle", "",                                    \
               (kcu_mem_handle * h, void *os_handle, int type))                                                       \
    KG_CUDA_FN(StreamCreate, "cuStreamCreate", "", (kcu_stream * s, unsigned flags))                                  \
    KG_CUDA_FN(StreamDestroy, "cuStreamDestroy_v2", "", (kcu_stream s))                                               \
    KG_CUDA_FN(StreamSynchronize, "cuStreamSynchronize", "", (kcu_stream s))                                          \
    KG_CUDA_FN(StreamWaitValue32, "cuStreamWaitValue32_v2", "cuStreamWaitValue32",                                    \
               (kcu_stream s, kcu_ptr p, uint32_t v, unsigned flags))                                                 \
    KG_CUDA_FN(StreamWriteValue32, "cuStreamWriteValue32_v2", "cuStreamWriteValue32",                                 \
               (kcu_stream s, kcu_ptr p, uint32_t v, unsigned flags))                                                 \
    KG_CUDA_FN(EventCreate, "cuEventCreate", "", (kcu_event * e, unsigned flags))                                     \
    KG_CUDA_FN(EventDestroy, "cuEventDestroy_v2", "", (kcu_event e))                                                  \
    KG_CUDA_FN(EventRecord, "cuEventRecord", "", (kcu_event e, kcu_stream s))                                         \
    KG_CUDA_FN(EventSynchronize, "cuEventSynchronize", "", (kcu_event e))                                             \
    KG_CUDA_FN(EventElapsedTime, "cuEventElapsedTime", "", (float *ms, kcu_event from, kcu_event to))                 \
    KG_CUDA_FN(ModuleLoadDataEx, "cuModuleLoadDataEx", "",                                                            \
               (kcu_module * m, const void *image, unsigned n, int *options, void **values))                          \
    KG_CUDA_FN(ModuleUnload, "cuModuleUnload", "", (kcu_module m))                                                    \
    KG_CUDA_FN(ModuleGetFunction, "cuModuleGetFunction", "", (kcu_function * f, kcu_module m, const char *name))      \
    KG_CUDA_FN(FuncSetAttribute, "cuFuncSetAttribute", "", (kcu_function f, int attribute, int value))                \
    KG_CUDA_FN(LaunchKernel, "cuLaunchKernel", "",                                                                    \
               (kcu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,         \
                unsigned shared, kcu_stream s, void **params, void **extra))

typedef struct {
    void *library;
#define KG_CUDA_FIELD(name, symbol, older, params) kcu_result(*name) params;
    KG_CUDA_FUNCTIONS(KG_CUDA_FIELD)
#undef KG_CUDA_FIELD
} kg_cuda_api;

// Opens the driver and calls cuInit. path: NULL for libcuda.so.1 where the loader finds it. KG_ERR_CANNOT when there is
// no driver, it lacks a function (too old), or it finds no device. The library stays open when the process ends:
// unloading a driver that has started is not supported.
int kg_cuda_api_open(const char *path, kg_cuda_api *api, kg_error *err);
// The same without cuInit: for checking names against a library that is not a driver (the toolkit's stub).
int kg_cuda_api_resolve(const char *path, kg_cuda_api *api, kg_error *err);

const char *kg_cuda_error_name(const kg_cuda_api *api, kcu_result r);  // "CUDA_ERROR_ILLEGAL_ADDRESS"; never NULL
// 0 when r is success; else fails with `code` (KG_ERR_MEMORY when the card is full) and "what: CUDA_ERROR_...".
int kg_cuda_check(const kg_cuda_api *api, kcu_result r, kg_code code, const char *what, kg_error *err);

// A module from PTX or cubin; the JIT's log goes into the error.
int kg_cuda_module_load(const kg_cuda_api *api, const void *image, const char *what, kcu_module *out, kg_code code,
                        kg_error *err);

#endif
