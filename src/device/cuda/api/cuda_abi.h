// The part of the CUDA driver's binary interface that kgate uses, so that it builds without CUDA's headers and opens
// libcuda at run time. Names follow NVIDIA's with kcu_ for cu/CU; tests/cuda/abi_check.c compares sizes, offsets and
// values with the real cuda.h where one is installed. Source: CUDA Driver API reference manual, 13.0.
#ifndef KG_CUDA_ABI_H
#define KG_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int kcu_result;  // CUresult; 0 is success
typedef int kcu_device;
typedef unsigned long long kcu_ptr;         // CUdeviceptr
typedef unsigned long long kcu_mem_handle;  // CUmemGenericAllocationHandle
typedef struct kcu_context_st *kcu_context;
typedef struct kcu_module_st *kcu_module;
typedef struct kcu_function_st *kcu_function;
typedef struct kcu_stream_st *kcu_stream;
typedef struct kcu_event_st *kcu_event;

enum {
    KCU_ERROR_OUT_OF_MEMORY = 2,
    KCU_ERROR_DEINITIALIZED = 4,
    KCU_ERROR_NO_DEVICE = 100,
    KCU_ERROR_NOT_READY = 600,

    KCU_ATTR_WARP_SIZE = 10,
    KCU_ATTR_CLOCK_RATE = 13,  // kHz
    KCU_ATTR_MULTIPROCESSOR_COUNT = 16,
    KCU_ATTR_L2_CACHE_SIZE = 38,
    KCU_ATTR_MULTIPROCESSOR_THREADS = 39,  // the most at a time
    KCU_ATTR_CC_MAJOR = 75,
    KCU_ATTR_CC_MINOR = 76,
    KCU_ATTR_VMM_SUPPORTED = 102,
    KCU_ATTR_POSIX_FD_SUPPORTED = 103,

    KCU_STREAM_NON_BLOCKING = 1,
    KCU_EVENT_DEFAULT = 0,
    KCU_WAIT_VALUE_GEQ = 0,       // until (int32_t)(*addr - value) >= 0
    KCU_WRITE_VALUE_DEFAULT = 0,  // earlier writes of the stream are visible before this one
    KCU_HOST_REGISTER_DEVICEMAP = 2,

    KCU_JIT_ERROR_LOG_BUFFER = 5,
    KCU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    KCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,

    KCU_MEM_ALLOCATION_PINNED = 1,
    KCU_MEM_HANDLE_POSIX_FD = 1,
    KCU_MEM_LOCATION_DEVICE = 1,
    KCU_MEM_GRANULARITY_MINIMUM = 0,
    KCU_MEM_ACCESS_READ = 1,
    KCU_MEM_ACCESS_READWRITE = 3
};

typedef struct {
    int type;
    int id;
} kcu_mem_location;

typedef struct {
    int type;
    int requested_handle_types;
    kcu_mem_location location;
    void *win32_meta;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} kcu_mem_prop;

typedef struct {
    kcu_mem_location location;
    int flags;
} kcu_mem_access;

#endif
