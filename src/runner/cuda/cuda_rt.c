// CUDA as a runner sees it. Everything goes into the legacy default stream of the primary context: a candidate's own
// default launches, PyTorch's and Triton's order with it, whatever stream they name in it. The hold is a wait of the
// queue on a word of the control page, the end a write to the next word. Source: CUDA Driver API manual, chapter
// "Stream Memory Operations".
#include "runner/cuda/cuda_rt.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096

typedef struct {
    kg_rt rt;  // first
    kg_cuda_api api;
    kcu_device dev;
    kcu_context context;
    kg_control *control;
    kcu_ptr go, done;   // the control page's words as the device sees them
    kcu_event *events;  // two a call
    int cap, calls;
    uint32_t seq;  // of the batch under way
    kcu_ptr flush;
    size_t flush_cap, flush_bytes;
    size_t granularity;
    kcu_module module;
    kcu_function empty, read;
    int ordinal;
} cuda_rt;

// The kernel of calibration, and the one that makes the cache cold: it reads a buffer larger than the cache, so that
// what is left there is clean. (A memset would leave the cache full of lines that the timed kernel must first write
// back: at 16 M floats that costs it a tenth.) PTX of an age that every driver with the virtual memory API takes.
static const char own_ptx[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry kgate_empty()\n{\n    ret;\n}\n"
    ".visible .entry kgate_read(.param .u64 base, .param .u64 n)\n{\n"
    "    .reg .pred %p<3>;\n    .reg .b32 %r<10>;\n    .reg .b64 %d<8>;\n"
    "    ld.param.u64 %d1, [base];\n    cvta.to.global.u64 %d1, %d1;\n    ld.param.u64 %d2, [n];\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n    mov.u32 %r4, %nctaid.x;\n"
    "    cvt.u64.u32 %d4, %r3;\n    mad.wide.u32 %d3, %r1, %r2, %d4;\n    mul.wide.u32 %d5, %r4, %r2;\n"
    "    mov.u32 %r5, 0;\n"
    "MORE:\n    setp.ge.u64 %p1, %d3, %d2;\n    @%p1 bra DONE;\n"
    "    shl.b64 %d6, %d3, 4;\n    add.u64 %d7, %d1, %d6;\n    ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d7];\n"
    "    xor.b32 %r5, %r5, %r6;\n    xor.b32 %r5, %r5, %r7;\n    xor.b32 %r5, %r5, %r8;\n    xor.b32 %r5, %r5, %r9;\n"
    "    add.u64 %d3, %d3, %d5;\n    bra MORE;\n"
    // The buffer holds zeros, so this never stores; the compiler cannot know and keeps the loads.
    "DONE:\n    setp.eq.u32 %p2, %r5, 0;\n    @%p2 bra END;\n    st.global.u32 [%d1], %r5;\n"
    "END:\n    ret;\n}\n";
#define FLUSH_BLOCKS  1056
#define FLUSH_THREADS 256

static cuda_rt *rt_of(kg_rt *rt) { return (cuda_rt *)rt; }
const kg_cuda_api *kg_cuda_rt_api(kg_rt *rt) { return &rt_of(rt)->api; }
int kg_cuda_rt_ordinal(kg_rt *rt) { return rt_of(rt)->ordinal; }

#define TRY(c, call, code, what, err)                                          \
    do {                                                                       \
        if (kg_cuda_check(&(c)->api, (call), code, what, err) != 0) return -1; \
    } while (0)
// Once candidate code may have run, a failing driver call is its doing: errors of kernels surface later.
#define BLAME(c, call, what, err) TRY(c, call, KG_ERR_CANDIDATE, what, err)

int kg_cuda_rt_enter(kg_rt *rt, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    BLAME(c, c->api.CtxSetCurrent(c->context), "the CUDA context is lost", err);
    return 0;
}

// ---- opening ------------------------------------------------------------------------------------
static kcu_mem_location here(const cuda_rt *c) { return (kcu_mem_location){KCU_MEM_LOCATION_DEVICE, c->dev}; }

static int register_control(cuda_rt *c, kg_error *err) {
    kcu_ptr page = 0;
    TRY(c, c->api.MemHostRegister(c->control, PAGE, KCU_HOST_REGISTER_DEVICEMAP), KG_ERR_CANNOT,
        "showing the control page to the device", err);
    TRY(c, c->api.MemHostGetDevicePointer(&page, c->control, 0), KG_ERR_CANNOT, "finding the control page's address",
        err);
    c->go = page + offsetof(kg_control, go);
    c->done = page + offsetof(kg_control, done);
    return 0;
}

static int start(cuda_rt *c, kg_error *err) {
    kcu_mem_prop prop = {.type = KCU_MEM_ALLOCATION_PINNED, .requested_handle_types = KCU_MEM_HANDLE_POSIX_FD};
    TRY(c, c->api.DeviceGet(&c->dev, c->ordinal), KG_ERR_CANNOT, "opening the CUDA device", err);
    TRY(c, c->api.DevicePrimaryCtxRetain(&c->context, c->dev), KG_ERR_CANNOT, "making a CUDA context", err);
    TRY(c, c->api.CtxSetCurrent(c->context), KG_ERR_CANNOT, "making the CUDA context current", err);
    prop.location = here(c);
    TRY(c, c->api.MemGetAllocationGranularity(&c->granularity, &prop, KCU_MEM_GRANULARITY_MINIMUM), KG_ERR_CANNOT,
        "reading the allocation granularity", err);
    if (kg_cuda_module_load(&c->api, own_ptx, "an empty kernel", &c->module, KG_ERR_CANNOT, err) != 0) return -1;
    TRY(c, c->api.ModuleGetFunction(&c->empty, c->module, "kgate_empty"), KG_ERR_CANNOT, "finding the empty kernel",
        err);
    TRY(c, c->api.ModuleGetFunction(&c->read, c->module, "kgate_read"), KG_ERR_CANNOT, "finding the flush kernel", err);
    return c->control ? register_control(c, err) : 0;
}

static void cuda_close(kg_rt *rt) {
    cuda_rt *c = rt_of(rt);
    if (c->context && c->api.CtxSetCurrent(c->context) == 0) {
        for (int i = 0; i < 2 * c->cap; i++) c->api.EventDestroy(c->events[i]);
        if (c->flush) c->api.MemFree(c->flush);
        if (c->module) c->api.ModuleUnload(c->module);
        if (c->go) c->api.MemHostUnregister(c->control);
    }
    if (c->context) c->api.DevicePrimaryCtxRelease(c->dev);
    free(c->events);
    free(c);
}

static int cuda_open(int ordinal, kg_control *control, kg_rt **out, kg_error *err) {
    cuda_rt *c = kg_alloc(sizeof *c);
    c->rt.ops = &kg_cuda_rt_ops;
    c->control = control;
    c->ordinal = ordinal;
    if (kg_cuda_api_open(NULL, &c->api, err) != 0 || start(c, err) != 0) {
        cuda_close(&c->rt);
        return -1;
    }
    *out = &c->rt;
    return 0;
}

// ---- memory -------------------------------------------------------------------------------------
static size_t whole_pages(const cuda_rt *c, size_t bytes) {
    return (bytes + c->granularity - 1) / c->granularity * c->granularity;
}

static int map_handle(cuda_rt *c, kcu_mem_handle handle, size_t mapped, bool writable, kcu_ptr *p, kg_error *err) {
    const kcu_mem_access access = {here(c), writable ? KCU_MEM_ACCESS_READWRITE : KCU_MEM_ACCESS_READ};
    TRY(c, c->api.MemAddressReserve(p, mapped, 0, 0, 0), KG_ERR_MEMORY, "reserving addresses for an arena", err);
    kcu_result r = c->api.MemMap(*p, mapped, 0, handle, 0);
    if (r != 0) c->api.MemAddressFree(*p, mapped);
    TRY(c, r, KG_ERR_MEMORY, "mapping an arena", err);
    r = c->api.MemSetAccess(*p, mapped, &access, 1);
    if (r != 0) {
        c->api.MemUnmap(*p, mapped);
        c->api.MemAddressFree(*p, mapped);
    }
    TRY(c, r, KG_ERR_CANNOT, "opening an arena", err);
    return 0;
}

static int cuda_map(kg_rt *rt, int fd, size_t bytes, bool writable, void **base, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    kcu_mem_handle handle = 0;
    kcu_ptr p = 0;
    *base = NULL;
    if (kg_cuda_rt_enter(rt, err) != 0) return -1;
    TRY(c, c->api.MemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd, KCU_MEM_HANDLE_POSIX_FD), KG_ERR_CANNOT,
        "importing an arena", err);
    int rc = map_handle(c, handle, whole_pages(c, bytes), writable, &p, err);
    c->api.MemRelease(handle);  // the mapping keeps the memory
    *base = (void *)(uintptr_t)p;
    return rc;
}

static void cuda_unmap(kg_rt *rt, void *base, size_t bytes) {
    cuda_rt *c = rt_of(rt);
    const kcu_ptr p = (kcu_ptr)(uintptr_t)base;
    if (kg_cuda_rt_enter(rt, NULL) != 0 || c->api.CtxSynchronize() != 0) return;
    if (c->api.MemUnmap(p, whole_pages(c, bytes)) == 0) c->api.MemAddressFree(p, whole_pages(c, bytes));
}

// ---- batches ------------------------------------------------------------------------------------
static int grow_events(cuda_rt *c, int calls, kg_error *err) {
    if (calls <= c->cap) return 0;
    c->events = kg_realloc(c->events, 2 * sizeof(kcu_event) * (size_t)calls);
    for (; c->cap < calls; c->cap++) {
        kcu_event *pair = c->events + 2 * c->cap;
        BLAME(c, c->api.EventCreate(&pair[0], KCU_EVENT_DEFAULT), "making an event", err);
        kcu_result r = c->api.EventCreate(&pair[1], KCU_EVENT_DEFAULT);
        if (r != 0) c->api.EventDestroy(pair[0]);
        BLAME(c, r, "making an event", err);
    }
    return 0;
}

static int grow_flush(cuda_rt *c, size_t bytes, kg_error *err) {
    c->flush_bytes = bytes;
    if (bytes <= c->flush_cap) return 0;
    if (c->flush) c->api.MemFree(c->flush);
    c->flush = 0;
    c->flush_cap = 0;
    BLAME(c, c->api.MemAlloc(&c->flush, bytes), "memory for flushing the cache", err);
    BLAME(c, c->api.MemsetD8Async(c->flush, 0, bytes, NULL), "clearing the flush buffer", err);
    c->flush_cap = bytes;
    return 0;
}

// Whatever may wait for the device (memory, events) is made here, before the hold.
static int cuda_begin(kg_rt *rt, int calls, uint32_t seq, bool held, size_t flush_bytes, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    if (kg_cuda_rt_enter(rt, err) != 0 || grow_events(c, calls, err) != 0 || grow_flush(c, flush_bytes, err) != 0)
        return -1;
    BLAME(c, c->api.CtxSynchronize(), "an earlier call of the kernel failed", err);
    c->calls = calls;
    c->seq = seq;
    if (held) BLAME(c, c->api.StreamWaitValue32(NULL, c->go, seq, KCU_WAIT_VALUE_GEQ), "holding the queue", err);
    return 0;
}

static int flush(cuda_rt *c, kg_error *err) {
    uint64_t quads = c->flush_bytes / 16;
    void *args[] = {&c->flush, &quads};
    BLAME(c, c->api.LaunchKernel(c->read, FLUSH_BLOCKS, 1, 1, FLUSH_THREADS, 1, 1, 0, NULL, args, NULL),
          "flushing the cache", err);
    return 0;
}

static int cuda_before(kg_rt *rt, int i, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    if (c->flush_bytes > 0 && flush(c, err) != 0) return -1;
    BLAME(c, c->api.EventRecord(c->events[2 * i], NULL), "before a call", err);
    return 0;
}

static int cuda_after(kg_rt *rt, int i, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    BLAME(c, c->api.EventRecord(c->events[2 * i + 1], NULL), "the kernel failed in or before this call", err);
    return 0;
}

static int cuda_end(kg_rt *rt, uint32_t seq, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    kcu_result r = c->api.StreamWriteValue32(NULL, c->done, seq, KCU_WRITE_VALUE_DEFAULT);
    // A broken context never writes again; the judge must not wait for it.
    if (r != 0) atomic_store(&c->control->done, seq);
    BLAME(c, r, "the kernel failed", err);
    return 0;
}

static int cuda_times(kg_rt *rt, int calls, double *seconds, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    if (calls > c->calls) return kg_fail(err, KG_ERR_INTERNAL, "times of %d calls, %d were made", calls, c->calls);
    kcu_result r = c->api.StreamSynchronize(NULL);
    if (r != 0) atomic_store(&c->control->done, c->seq);
    BLAME(c, r, "the kernel failed", err);
    for (int i = 0; i < calls; i++) {
        float ms = 0;
        BLAME(c, c->api.EventElapsedTime(&ms, c->events[2 * i], c->events[2 * i + 1]), "reading a call's time", err);
        seconds[i] = (double)ms * 1e-3;
    }
    return 0;
}

static int cuda_sync(kg_rt *rt, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    if (kg_cuda_rt_enter(rt, err) != 0) return -1;
    BLAME(c, c->api.CtxSynchronize(), "the kernel failed", err);
    return 0;
}

static void *cuda_stream(kg_rt *rt) {
    (void)rt;
    return NULL;  // the legacy default stream
}

static int cuda_empty(kg_rt *rt, kg_error *err) {
    cuda_rt *c = rt_of(rt);
    TRY(c, c->api.LaunchKernel(c->empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), KG_ERR_CANNOT,
        "launching an empty kernel", err);
    return 0;
}

const kg_rt_ops kg_cuda_rt_ops = {
    .kind = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .map = cuda_map,
    .unmap = cuda_unmap,
    .begin = cuda_begin,
    .before = cuda_before,
    .after = cuda_after,
    .end = cuda_end,
    .times = cuda_times,
    .sync = cuda_sync,
    .stream = cuda_stream,
    .queues = true,
    .empty = cuda_empty,
};
