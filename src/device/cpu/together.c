// Threads that start together, each on a processor of its own: what a measurement of the whole machine needs.
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "device/cpu/cpu.h"

typedef struct {
    void (*fn)(int, int, void *);
    void *ctx;
    int n;
    cpu_set_t allowed;
    _Atomic int arrived, go;  // go: 1 all at once, -1 go home
} team;

typedef struct {
    team *t;
    int i;
    double start, stop, worked;
} member;

static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The i-th processor that this process may use.
static int nth_processor(const cpu_set_t *set, int i) {
    for (size_t c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, set) && i-- == 0) return (int)c;
    return -1;
}

static void *run(void *arg) {
    member *m = arg;
    cpu_set_t one;
    int cpu = nth_processor(&m->t->allowed, m->i);
    CPU_ZERO(&one);
    if (cpu >= 0) {
        CPU_SET((size_t)cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    m->t->arrived++;
    while (m->t->go == 0) sched_yield();
    if (m->t->go < 0) return NULL;
    double worked = thread_seconds();
    m->start = kg_now();
    m->t->fn(m->i, m->t->n, m->t->ctx);
    m->stop = kg_now();
    m->worked = thread_seconds() - worked;
    return NULL;
}

double kg_cpu_together(int n, void (*fn)(int, int, void *), void *ctx, bool *undisturbed) {
    team t = {.fn = fn, .ctx = ctx, .n = n};
    pthread_t *threads = kg_alloc(sizeof *threads * (size_t)n);
    member *members = kg_alloc(sizeof *members * (size_t)n);
    if (sched_getaffinity(0, sizeof t.allowed, &t.allowed)) CPU_ZERO(&t.allowed);
    int started = 0;
    for (; started < n; started++) {
        members[started] = (member){.t = &t, .i = started};
        if (pthread_create(&threads[started], NULL, run, &members[started])) break;
    }
    while (t.arrived < started) sched_yield();
    t.go = started == n ? 1 : -1;
    double start = 1e300, stop = 0;
    bool alone = true;
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        if (members[i].start < start) start = members[i].start;
        if (members[i].stop > stop) stop = members[i].stop;
        // A timer's tick and the like are allowed for.
        double elapsed = members[i].stop - members[i].start;
        alone = alone && elapsed - members[i].worked < 0.02 * elapsed + 50e-6;
    }
    free(members);
    free(threads);
    if (undisturbed) *undisturbed = alone;
    return started == n ? stop - start : -1;
}

#define PATIENCE 10  // times the budget, on a busy machine

double kg_cpu_least(int n, void (*fn)(int, int, void *), void *ctx, double budget_s, bool *quiet) {
    double least = NAN, least_alone = NAN, begin = kg_now();
    int runs = 0, alone = 0;
    for (;; runs++) {
        double spent = kg_now() - begin;
        if (runs >= 3 && spent > (alone >= 2 ? budget_s : PATIENCE * budget_s)) break;
        bool undisturbed;
        double s = kg_cpu_together(n, fn, ctx, &undisturbed);
        if (s <= 0) break;
        if (!(s >= least)) least = s;
        if (undisturbed && !(s >= least_alone)) least_alone = s;
        alone += undisturbed;
        if (kg_interrupted()) return *quiet = false, least;
    }
    if (alone) return least_alone;
    *quiet = false;
    return least;
}
