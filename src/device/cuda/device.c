// A CUDA device as the judge uses it. Arenas are physical memory of the virtual memory API, exported as a descriptor,
// so that a runner maps the same bytes with the rights its own mapping states. Source: CUDA Driver API manual, chapter
// "Virtual Memory Management".
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/cuda_device.h"

#define GATHER_CHUNK ((size_t)1 << 20)

typedef struct {
    kg_arena base;  // first
    kg_arena_info info;
    size_t mapped;  // bytes, a multiple of the granularity
    kcu_mem_handle handle;
    kcu_ptr address;
} cuda_arena;

static cuda_device *device_of(kg_device *d) { return (cuda_device *)d; }
static cuda_arena *arena_of(const kg_arena *a) { return (cuda_arena *)(uintptr_t)a; }

int kg_cuda_enter(cuda_device *d, kg_error *err) {
    CUDA_CHECK(d, d->api.CtxSetCurrent(d->context), "making the judge's CUDA context current", err);
    return 0;
}

int kg_cuda_ready(cuda_device *d, kg_error *err) {
    if (kg_cuda_enter(d, err) != 0) return -1;
    if (d->kernels.module) return 0;
    if (kg_cuda_kernels_load(&d->api, d->cc, &d->kernels, err) != 0) return -1;
    CUDA_CHECK(d, d->api.MemAlloc(&d->scratch, GATHER_CHUNK * 16 + 256), "device memory for gathering", err);
    return 0;
}

int kg_cuda_launch(cuda_device *d, kg_cuda_kernel k, uint64_t blocks, void **params, kg_error *err) {
    const unsigned grid = blocks < 1 ? 1 : blocks > 0x7fffffff ? 0x7fffffffu : (unsigned)blocks;
    CUDA_CHECK(d, d->api.LaunchKernel(d->kernels.fn[k], grid, 1, 1, 256, 1, 1, 0, d->stream, params, NULL),
               "launching kgate's own kernel", err);
    return 0;
}

// ---- opening ------------------------------------------------------------------------------------
static int cuda_count(void) {
    kg_cuda_api api;
    int n = 0;
    if (kg_cuda_api_open(NULL, &api, NULL) != 0) return 0;
    return api.DeviceGetCount(&n) == 0 ? n : 0;
}

static kcu_mem_prop arena_prop(const cuda_device *d) {
    kcu_mem_prop p = {.type = KCU_MEM_ALLOCATION_PINNED, .requested_handle_types = KCU_MEM_HANDLE_POSIX_FD};
    p.location = (kcu_mem_location){KCU_MEM_LOCATION_DEVICE, d->dev};
    return p;
}

static int attribute(cuda_device *d, int which, int *value, kg_error *err) {
    CUDA_CHECK(d, d->api.DeviceGetAttribute(value, which, d->dev), "reading a device attribute", err);
    return 0;
}

static int open_context(cuda_device *d, kg_error *err) {
    int major, minor, vmm, fd;
    if (attribute(d, KCU_ATTR_CC_MAJOR, &major, err) != 0 || attribute(d, KCU_ATTR_CC_MINOR, &minor, err) != 0 ||
        attribute(d, KCU_ATTR_MULTIPROCESSOR_COUNT, &d->sms, err) != 0 ||
        attribute(d, KCU_ATTR_VMM_SUPPORTED, &vmm, err) != 0 ||
        attribute(d, KCU_ATTR_POSIX_FD_SUPPORTED, &fd, err) != 0)
        return -1;
    d->cc = major * 10 + minor;
    if (!vmm || !fd)
        return kg_fail(err, KG_ERR_CANNOT,
                       "cuda:%d cannot share memory between processes (virtual memory API with file "
                       "descriptors): kgate needs a GPU and a system that can",
                       d->base.ordinal);
    CUDA_CHECK(d, d->api.DeviceGetPCIBusId(d->bus_id, (int)sizeof d->bus_id, d->dev), "reading the PCI bus id", err);
    CUDA_CHECK(d, d->api.DevicePrimaryCtxRetain(&d->context, d->dev), "making a CUDA context", err);
    if (kg_cuda_enter(d, err) != 0) return -1;
    const kcu_mem_prop prop = arena_prop(d);
    CUDA_CHECK(d, d->api.MemGetAllocationGranularity(&d->granularity, &prop, KCU_MEM_GRANULARITY_MINIMUM),
               "reading the allocation granularity", err);
    CUDA_CHECK(d, d->api.StreamCreate(&d->stream, KCU_STREAM_NON_BLOCKING), "making a stream", err);
    return 0;
}

static void cuda_close(kg_device *base) {
    cuda_device *d = device_of(base);
    if (d->context && d->api.CtxSetCurrent(d->context) == 0) {
        if (d->scratch) d->api.MemFree(d->scratch);
        if (d->kernels.module) d->api.ModuleUnload(d->kernels.module);
        if (d->stream) d->api.StreamDestroy(d->stream);
    }
    if (d->context) d->api.DevicePrimaryCtxRelease(d->dev);
    free(d);
}

static int cuda_open(int ordinal, kg_device **out, kg_error *err) {
    kg_cuda_api api;
    int n = 0;
    if (kg_cuda_api_open(NULL, &api, err) != 0) return -1;
    if (api.DeviceGetCount(&n) != 0 || ordinal < 0 || ordinal >= n)
        return kg_fail(err, KG_ERR_CANNOT, "no device cuda:%d: this machine has %d CUDA device%s", ordinal, n,
                       n == 1 ? "" : "s");
    cuda_device *d = kg_alloc(sizeof *d);
    d->base = (kg_device){&kg_cuda_device_ops, ordinal};
    d->api = api;
    if (kg_cuda_check(&api, api.DeviceGet(&d->dev, ordinal), KG_ERR_CANNOT, "opening the CUDA device", err) != 0 ||
        open_context(d, err) != 0) {
        cuda_close(&d->base);
        return -1;
    }
    *out = &d->base;
    return 0;
}

// ---- arenas -------------------------------------------------------------------------------------
static void cuda_arena_destroy(kg_arena *base) {
    if (!base) return;
    cuda_arena *a = arena_of(base);
    cuda_device *d = device_of(base->device);
    if (d->api.CtxSetCurrent(d->context) == 0) {
        d->api.StreamSynchronize(d->stream);  // fills of it may be on their way
        if (a->address) {
            d->api.MemUnmap(a->address, a->mapped);
            d->api.MemAddressFree(a->address, a->mapped);
        }
        if (a->handle) d->api.MemRelease(a->handle);
    }
    if (a->info.fd >= 0) close(a->info.fd);
    free(a);
}

static int map_arena(cuda_device *d, cuda_arena *a, kg_error *err) {
    const kcu_mem_prop prop = arena_prop(d);
    const kcu_mem_access access = {prop.location, KCU_MEM_ACCESS_READWRITE};
    char *what = kg_format("%.1f MB of device memory", (double)a->mapped * 1e-6);
    int rc = kg_cuda_check(&d->api, d->api.MemCreate(&a->handle, a->mapped, &prop, 0), KG_ERR_MEMORY, what, err);
    free(what);
    if (rc != 0) {
        a->handle = 0;
        return -1;
    }
    CUDA_CHECK(d, d->api.MemExportToShareableHandle(&a->info.fd, a->handle, KCU_MEM_HANDLE_POSIX_FD, 0),
               "exporting an arena", err);
    CUDA_CHECK(d, d->api.MemAddressReserve(&a->address, a->mapped, 0, 0, 0), "reserving addresses for an arena", err);
    kcu_result r = d->api.MemMap(a->address, a->mapped, 0, a->handle, 0);
    if (r != 0) {
        d->api.MemAddressFree(a->address, a->mapped);
        a->address = 0;
    }
    CUDA_CHECK(d, r, "mapping an arena", err);
    CUDA_CHECK(d, d->api.MemSetAccess(a->address, a->mapped, &access, 1), "opening an arena to the judge", err);
    return 0;
}

static int cuda_arena_create(kg_device *base, size_t bytes, bool runner_writes, kg_arena **out, kg_error *err) {
    cuda_device *d = device_of(base);
    if (kg_cuda_enter(d, err) != 0) return -1;
    if (bytes > SIZE_MAX - d->granularity)
        return kg_fail(err, KG_ERR_MEMORY, "an arena of %zu bytes is larger than any device", bytes);
    cuda_arena *a = kg_alloc(sizeof *a);
    a->base.device = base;
    a->info = (kg_arena_info){.bytes = bytes, .fd = -1, .runner_writes = runner_writes};
    const size_t pages = bytes == 0 ? 1 : (bytes + d->granularity - 1) / d->granularity;
    a->mapped = pages * d->granularity;
    if (map_arena(d, a, err) != 0) {
        cuda_arena_destroy(&a->base);
        return -1;
    }
    *out = &a->base;
    return 0;
}

static kg_arena_info cuda_arena_info(const kg_arena *a) { return arena_of(a)->info; }

// ---- values -------------------------------------------------------------------------------------
static int enter_range(kg_arena *base, size_t offset, size_t bytes, kcu_ptr *p, kg_error *err) {
    const cuda_arena *a = arena_of(base);
    *p = a->address + offset;
    if (offset > a->info.bytes || bytes > a->info.bytes - offset)
        return kg_fail(err, KG_ERR_INTERNAL, "%zu bytes at %zu lie outside an arena of %zu", bytes, offset,
                       a->info.bytes);
    return kg_cuda_ready(device_of(base->device), err);
}

static int enter_extent(kg_arena *base, kg_extent e, kcu_ptr *p, kg_error *err) {
    const size_t size = kg_dtype_size(e.dtype);
    if (e.count < 0 || (uint64_t)e.count > SIZE_MAX / size)
        return kg_fail(err, KG_ERR_INTERNAL, "an extent of %lld elements", (long long)e.count);
    return enter_range(base, e.offset, (size_t)e.count * size, p, err);
}

static uint64_t word_of(const kg_fill *f, kg_dtype t) {
    uint64_t word = 0;
    const size_t size = kg_dtype_size(t);
    for (int64_t i = 0; i < (int64_t)(8 / size); i++) kg_fill_range(f, t, 0, i, 1, (char *)&word + (size_t)i * size);
    return word;
}

static void args_of_matrix(kg_fill_args *a, const kg_fill *f) {
    const bool rank_one = f->kind == KG_FILL_RANK_ONE;
    a->scale = (float)((rank_one ? sqrt(f->b) : 1) / 2421581.7);
    a->shift = rank_one ? 0 : (float)f->b;
    a->order = (uint64_t)fabs(f->a);
    a->pairs = f->a < 0;
}

static kg_fill_args args_of(const kg_fill *f, kg_extent e, uint64_t seed) {
    kg_fill_args a = {
        .seed = seed, .count = (uint64_t)e.count, .shift = (float)f->a, .kind = f->kind, .dtype = e.dtype};
    switch (f->kind) {
    case KG_FILL_UNIFORM: a.scale = (float)(f->b - f->a); break;
    case KG_FILL_INT:
        a.int_first = f->a;
        a.int_count = (uint64_t)(f->b - f->a) + 1;
        break;
    case KG_FILL_SHUFFLE:
    case KG_FILL_CHOICE:
        a.range = (uint32_t)f->a;
        a.part = (uint32_t)f->b;
        break;
    case KG_FILL_LOGSCALE:
        a.first_octave = (int32_t)f->a;
        a.octaves = (uint32_t)((int32_t)f->b - (int32_t)f->a);
        break;
    case KG_FILL_RAISED:
    case KG_FILL_CYCLIC:
    case KG_FILL_SYMMETRIC:
    case KG_FILL_HERMITIAN:
    case KG_FILL_LOWER:
    case KG_FILL_UPPER:
    case KG_FILL_EXCHANGED:
    case KG_FILL_RANK_ONE: args_of_matrix(&a, f); break;
    default: a.scale = (float)(f->b / 2421581.7); break;
    }
    return a;
}

static uint64_t blocks_for(uint64_t threads) {
    const uint64_t blocks = (threads + 255) / 256;
    return blocks < 65536 ? blocks : 65536;  // the kernels stride
}

static int cuda_fill(kg_arena *base, kg_extent e, const kg_fill *f, uint64_t seed, kg_error *err) {
    static const kg_cuda_kernel by_size[9] = {
        [1] = KG_K_FILL_8, [2] = KG_K_FILL_16, [4] = KG_K_FILL_32, [8] = KG_K_FILL_64};
    cuda_device *d = device_of(base->device);
    kcu_ptr p = 0;
    if (enter_extent(base, e, &p, err) != 0) return -1;
    if (e.count == 0) return 0;
    const size_t size = kg_dtype_size(e.dtype);
    if (f->kind == KG_FILL_ZERO || f->kind == KG_FILL_CONST || f->kind == KG_FILL_POISON) {
        uint64_t bytes = (uint64_t)e.count * size, word = word_of(f, e.dtype);
        return kg_cuda_launch(d, KG_K_FILL_WORD, blocks_for(bytes / 8), (void *[]){&p, &bytes, &word}, err);
    }
    kg_fill_args a = args_of(f, e, seed);
    return kg_cuda_launch(d, by_size[size], blocks_for(a.count / 2 + 1), (void *[]){&p, &a}, err);
}

static int cuda_finish(kg_device *base, kg_error *err) {
    cuda_device *d = device_of(base);
    if (kg_cuda_enter(d, err) != 0) return -1;
    CUDA_CHECK(d, d->api.StreamSynchronize(d->stream), "waiting for the judge's own device work", err);
    return 0;
}

static int cuda_upload(kg_arena *a, size_t offset, const void *data, size_t bytes, kg_error *err) {
    cuda_device *d = device_of(a->device);
    kcu_ptr p = 0;
    if (enter_range(a, offset, bytes, &p, err) != 0) return -1;
    if (bytes == 0) return 0;
    CUDA_CHECK(d, d->api.MemcpyHtoDAsync(p, data, bytes, d->stream), "copying to the device", err);
    return cuda_finish(&d->base, err);  // data is the caller's again when this returns
}

static int cuda_download(kg_arena *a, size_t offset, void *data, size_t bytes, kg_error *err) {
    cuda_device *d = device_of(a->device);
    kcu_ptr p = 0;
    if (enter_range(a, offset, bytes, &p, err) != 0) return -1;
    if (bytes == 0) return 0;
    CUDA_CHECK(d, d->api.MemcpyDtoHAsync(data, p, bytes, d->stream), "copying from the device", err);
    return cuda_finish(&d->base, err);
}

static int gather_chunk(cuda_device *d, kcu_ptr from, size_t size, uint64_t n, const int64_t *index, void *data,
                        kg_error *err) {
    kcu_ptr indices = d->scratch, values = d->scratch + GATHER_CHUNK * 8;
    uint32_t bytes = (uint32_t)size;
    CUDA_CHECK(d, d->api.MemcpyHtoDAsync(indices, index, n * 8, d->stream), "copying indices to the device", err);
    if (kg_cuda_launch(d, KG_K_GATHER, blocks_for(n), (void *[]){&from, &indices, &n, &bytes, &values}, err) != 0)
        return -1;
    CUDA_CHECK(d, d->api.MemcpyDtoHAsync(data, values, n * size, d->stream), "copying gathered elements", err);
    return cuda_finish(&d->base, err);
}

static int cuda_gather(kg_arena *base, kg_extent e, size_t n, const int64_t *index, void *data, kg_error *err) {
    cuda_device *d = device_of(base->device);
    kcu_ptr p = 0;
    if (enter_extent(base, e, &p, err) != 0) return -1;
    for (size_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= e.count)
            return kg_fail(err, KG_ERR_INTERNAL, "index %lld lies outside an extent of %lld elements",
                           (long long)index[i], (long long)e.count);
    const size_t size = kg_dtype_size(e.dtype);
    for (size_t at = 0; at < n; at += GATHER_CHUNK) {
        const size_t chunk = n - at < GATHER_CHUNK ? n - at : GATHER_CHUNK;
        if (gather_chunk(d, p, size, chunk, index + at, (char *)data + at * size, err) != 0) return -1;
    }
    return 0;
}

static int cuda_count_poison(kg_arena *base, kg_extent e, uint64_t *n, kg_error *err) {
    cuda_device *d = device_of(base->device);
    kcu_ptr p = 0;
    if (enter_extent(base, e, &p, err) != 0) return -1;
    *n = 0;
    if (e.count == 0) return 0;
    const kg_fill poison = {.kind = KG_FILL_POISON};
    uint64_t count = (uint64_t)e.count, word = word_of(&poison, e.dtype);
    uint32_t size = (uint32_t)kg_dtype_size(e.dtype);
    kcu_ptr total = d->scratch + GATHER_CHUNK * 16;
    CUDA_CHECK(d, d->api.MemsetD8Async(total, 0, 8, d->stream), "clearing a counter", err);
    uint64_t blocks = blocks_for(count / 8);
    if (kg_cuda_launch(d, KG_K_COUNT_BITS, blocks, (void *[]){&p, &count, &size, &word, &total}, err) != 0) return -1;
    CUDA_CHECK(d, d->api.MemcpyDtoHAsync(n, total, 8, d->stream), "reading a counter", err);
    return cuda_finish(base->device, err);
}

const kg_device_ops kg_cuda_device_ops = {
    .kind = "cuda",
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .describe = kg_cuda_describe,
    .arena_create = cuda_arena_create,
    .arena_destroy = cuda_arena_destroy,
    .arena_info = cuda_arena_info,
    .fill = cuda_fill,
    .upload = cuda_upload,
    .download = cuda_download,
    .gather = cuda_gather,
    .count_poison = cuda_count_poison,
    .evict = NULL,  // the runner flushes in the queue
    .finish = cuda_finish,
    .judge_polls = true,
    .between_processes = 0.005,  // an H200: 0.4 % over six sizes
    .measure = kg_cuda_measure,
};
