#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_THREADS 64

typedef struct {
    size_t n, grain;
    int (*fn)(size_t, size_t, void *);
    void *ctx;
    atomic_size_t next;
    atomic_int failed;
} job;

static void *work(void *arg) {
    job *j = arg;
    while (!atomic_load(&j->failed)) {
        size_t first = atomic_fetch_add(&j->next, j->grain);
        if (first >= j->n) break;
        size_t last = j->n - first < j->grain ? j->n : first + j->grain;
        int r = j->fn(first, last, j->ctx);
        if (r) atomic_store(&j->failed, r);
    }
    return NULL;
}

int kg_parallel(size_t n, size_t grain, int (*fn)(size_t first, size_t last, void *ctx), void *ctx) {
    if (n == 0) return 0;
    if (n <= grain) return fn(0, n, ctx);
    job j = {.n = n, .grain = grain, .fn = fn, .ctx = ctx};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t pieces = (n + grain - 1) / grain;
    size_t want = cpus < 1 ? 1 : (size_t)cpus;
    if (want > pieces) want = pieces;
    if (want > MAX_THREADS) want = MAX_THREADS;
    pthread_t threads[MAX_THREADS];
    size_t started = 0;
    // A thread that cannot be made is no error: the calling thread does its share.
    while (started + 1 < want && pthread_create(&threads[started], NULL, work, &j) == 0) started++;
    work(&j);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return atomic_load(&j.failed);
}
