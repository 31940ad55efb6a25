// The CPU as a runner sees it: calls run where they are made, so the hold is a wait before the first of them, and a
// call's time is the clock around it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runner/runner.h"

typedef struct {
    kg_rt rt;
    kg_control *control;
    int64_t *start, *stop;  // nanoseconds
    int cap, calls;
} cpu_rt;

static int64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int cpu_open(int ordinal, kg_control *control, kg_rt **out, kg_error *err) {
    if (ordinal != 0) return kg_fail(err, KG_ERR_CANNOT, "no device cpu:%d", ordinal);
    cpu_rt *c = kg_alloc(sizeof *c);
    c->rt.ops = &kg_cpu_rt_ops;
    c->control = control;
    *out = &c->rt;
    return 0;
}

static void cpu_close(kg_rt *rt) {
    cpu_rt *c = (cpu_rt *)rt;
    free(c->start);
    free(c->stop);
    free(c);
}

// Populated at once: a first touch within a timed call would cost a page fault. Not so inputs past that size, which may
// be memory of which few pages hold anything.
static int cpu_map(kg_rt *rt, int fd, size_t bytes, bool writable, void **base, kg_error *err) {
    (void)rt;
    *base = NULL;
    if (bytes == 0) return 0;
    int prot = PROT_READ | (writable ? PROT_WRITE : 0);
    void *p = mmap(NULL, bytes, prot, MAP_SHARED | (writable || bytes <= KG_POPULATED_BYTES ? MAP_POPULATE : 0), fd, 0);
    if (p == MAP_FAILED) return kg_fail(err, KG_ERR_MEMORY, "mapping %zu bytes: %s", bytes, strerror(errno));
    *base = p;
    return 0;
}

static void cpu_unmap(kg_rt *rt, void *base, size_t bytes) {
    (void)rt;
    munmap(base, bytes);
}

static int cpu_begin(kg_rt *rt, int calls, uint32_t seq, bool held, size_t flush_bytes, kg_error *err) {
    (void)flush_bytes;  // the judge evicts its own arenas
    (void)err;
    cpu_rt *c = (cpu_rt *)rt;
    if (calls > c->cap) {
        c->start = kg_realloc(c->start, sizeof *c->start * (size_t)calls);
        c->stop = kg_realloc(c->stop, sizeof *c->stop * (size_t)calls);
        c->cap = calls;
    }
    memset(c->start, 0, sizeof *c->start * (size_t)calls);
    memset(c->stop, 0, sizeof *c->stop * (size_t)calls);
    c->calls = calls;
    while (held && !kg_control_wait(&c->control->go, seq, 60)) continue;
    return 0;
}

static int cpu_before(kg_rt *rt, int i, kg_error *err) {
    (void)err;
    ((cpu_rt *)rt)->start[i] = nanoseconds();
    return 0;
}

static int cpu_after(kg_rt *rt, int i, kg_error *err) {
    (void)err;
    ((cpu_rt *)rt)->stop[i] = nanoseconds();
    return 0;
}

static int cpu_end(kg_rt *rt, uint32_t seq, kg_error *err) {
    (void)err;
    kg_control_set(&((cpu_rt *)rt)->control->done, seq);
    return 0;
}

static int cpu_times(kg_rt *rt, int calls, double *seconds, kg_error *err) {
    cpu_rt *c = (cpu_rt *)rt;
    if (calls > c->calls) return kg_fail(err, KG_ERR_INTERNAL, "times of %d calls, %d were made", calls, c->calls);
    for (int i = 0; i < calls; i++) seconds[i] = (double)(c->stop[i] - c->start[i]) * 1e-9;
    return 0;
}

static int cpu_sync(kg_rt *rt, kg_error *err) {
    (void)rt;
    (void)err;
    return 0;
}

static void *cpu_stream(kg_rt *rt) {
    (void)rt;
    return NULL;
}

const kg_rt_ops kg_cpu_rt_ops = {.kind = "cpu",
                                 .open = cpu_open,
                                 .close = cpu_close,
                                 .map = cpu_map,
                                 .begin = cpu_begin,
                                 .before = cpu_before,
                                 .after = cpu_after,
                                 .end = cpu_end,
                                 .times = cpu_times,
                                 .sync = cpu_sync,
                                 .stream = cpu_stream,
                                 .unmap = cpu_unmap,
                                 .queues = false};
