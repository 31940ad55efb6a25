// Arenas on the CPU: a memfd. The judge keeps a writable mapping; a runner that may only read gets a descriptor that
// cannot be mapped otherwise.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // kernel 5.1
#endif

static int open_shared(kg_cpu_arena *a, kg_error *err) {
    // Nobody may shrink it under the judge's mapping: that would be a SIGBUS in here.
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | (a->runner_writes ? 0 : F_SEAL_FUTURE_WRITE);
    if (fcntl(a->fd, F_ADD_SEALS, seals) || fcntl(a->fd, F_ADD_SEALS, F_SEAL_SEAL))
        return kg_fail(err, KG_ERR_CANNOT, "sealing shared memory: %s: kernel 5.1 or newer is needed", strerror(errno));
    if (a->runner_writes) return a->shared_fd = a->fd, 0;
    char *path = kg_format("/proc/self/fd/%d", a->fd);
    a->shared_fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    return a->shared_fd < 0 ? kg_fail(err, KG_ERR_CANNOT, "reopening shared memory: %s", strerror(errno)) : 0;
}

static int make(kg_cpu_arena *a, kg_error *err) {
    a->fd = memfd_create("kgate-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (a->fd < 0) return kg_fail(err, KG_ERR_CANNOT, "memfd_create: %s", strerror(errno));
    if (ftruncate(a->fd, (off_t)a->bytes))
        return kg_fail(err, KG_ERR_MEMORY, "%zu MiB of shared memory: %s", a->bytes >> 20, strerror(errno));
    void *p = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    if (p == MAP_FAILED) return kg_fail(err, KG_ERR_MEMORY, "mapping %zu MiB: %s", a->bytes >> 20, strerror(errno));
    a->data = p;
    // Takes the pages now: what does not fit is an error here and not a SIGBUS later. Inputs past 2^31 elements may
    // have few of them: pages of those are taken as they are filled.
    const bool sparse = !a->runner_writes && a->bytes > KG_POPULATED_BYTES;
    if (!sparse && madvise(p, a->bytes, MADV_POPULATE_WRITE) && errno != EINVAL)
        return kg_fail(err, KG_ERR_MEMORY, "%zu MiB of shared memory: %s", a->bytes >> 20, strerror(errno));
    return open_shared(a, err);
}

int kg_cpu_arena_create(kg_device *d, size_t bytes, bool runner_writes, kg_arena **out, kg_error *err) {
    kg_cpu_arena *a = kg_alloc(sizeof *a);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *a = (kg_cpu_arena){.arena = {d},
                        .bytes = (bytes + page - 1) / page * page,
                        .fd = -1,
                        .shared_fd = -1,
                        .runner_writes = runner_writes};
    if (a->bytes == 0) a->bytes = page;
    if (make(a, err)) return kg_cpu_arena_destroy(&a->arena), -1;
    *out = &a->arena;
    return 0;
}

void kg_cpu_arena_destroy(kg_arena *arena) {
    if (!arena) return;
    kg_cpu_arena *a = (kg_cpu_arena *)arena;
    if (a->data) munmap(a->data, a->bytes);
    if (a->shared_fd >= 0 && a->shared_fd != a->fd) close(a->shared_fd);
    if (a->fd >= 0) close(a->fd);
    free(a);
}

const void *kg_cpu_arena_trusted(const kg_arena *arena) {
    const kg_cpu_arena *a = (const kg_cpu_arena *)arena;
    return a->runner_writes ? NULL : a->data;
}

kg_arena_info kg_cpu_arena_info(const kg_arena *arena) {
    const kg_cpu_arena *a = (const kg_cpu_arena *)arena;
    return (kg_arena_info){a->bytes, a->shared_fd, a->runner_writes};
}
