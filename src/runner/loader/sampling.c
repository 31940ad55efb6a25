#include "runner/loader/sampling.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <ucontext.h>

#define MOST_SAMPLES 4096
#define MOST_FRAMES  16
#define MOST_CALLERS 6
#define INTERVAL_US  1000
#define ENOUGH_S     0.3

// The address that a signal interrupted; 0: not known on this machine.
static uintptr_t interrupted(const void *context) {
    const ucontext_t *c = context;
#if defined __x86_64__
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

// ---- the shared object ------------------------------------------------------------------------------
typedef struct {
    uintptr_t inside, base, end;
} range;

static int look_inside(struct dl_phdr_info *o, size_t size, void *ctx) {
    (void)size;
    range *r = ctx;
    uintptr_t end = 0;
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const uintptr_t to = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr + o->dlpi_phdr[i].p_memsz;
        if (o->dlpi_phdr[i].p_type == PT_LOAD && to > end) end = to;
    }
    if (r->inside < o->dlpi_addr || r->inside >= end) return 0;
    r->base = o->dlpi_addr;
    r->end = end;
    return 1;
}

static bool in_range(const range *r, uintptr_t at) { return at >= r->base && at < r->end; }

// ---- the handler ----------------------------------------------------------------------------------------
typedef struct {
    uintptr_t at, callers[MOST_CALLERS];
    int n_callers;
} sample;

static struct {
    range object;
    sample samples[MOST_SAMPLES];
    volatile int n;
} seen;

static void on_timer(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    const int code = errno;
    if (seen.n < MOST_SAMPLES) {
        sample *s = &seen.samples[seen.n];
        void *frames[MOST_FRAMES];
        *s = (sample){.at = interrupted(context)};
        const int n = backtrace(frames, MOST_FRAMES);
        for (int i = 0; i < n && s->n_callers < MOST_CALLERS; i++)
            if (in_range(&seen.object, (uintptr_t)frames[i]) && (uintptr_t)frames[i] != s->at)
                s->callers[s->n_callers++] = (uintptr_t)frames[i] - 1;
        seen.n++;
    }
    errno = code;
}

// ---- what is written ------------------------------------------------------------------------------------
static void write_sample(FILE *f, const sample *s) {
    Dl_info where;
    if (in_range(&seen.object, s->at)) {
        fprintf(f, "@%lx", (unsigned long)(s->at - seen.object.base));
    } else {
        const char *name = dladdr((void *)s->at, &where) ? where.dli_fname : NULL;
        const char *slash = name ? strrchr(name, '/') : NULL;
        fputs(slash ? slash + 1 : name && *name ? name : "?", f);
    }
    for (int i = 0; i < s->n_callers; i++) fprintf(f, " %lx", (unsigned long)(s->callers[i] - seen.object.base));
    fputc('\n', f);
}

static int write_samples(const char *folder, kg_error *err) {
    char *path = kg_format("%s/samples", folder);
    FILE *f = mkdir(folder, 0700) == 0 || errno == EEXIST ? fopen(path, "we") : NULL;
    for (int i = 0; f && i < seen.n; i++) write_sample(f, &seen.samples[i]);
    const int failed = !f || fclose(f);
    if (failed) kg_fail(err, KG_ERR_CANNOT, "%s: %s", path, strerror(errno));
    free(path);
    return failed ? -1 : 0;
}

static int call_for_a_while(int (*call)(void *ctx, kg_error *err), void *ctx, kg_error *err) {
    const double until = kg_now() + ENOUGH_S;
    do
        if (call(ctx, err)) return -1;
    while (kg_now() < until);
    return 0;
}

int kg_sample_calls(int (*call)(void *ctx, kg_error *err), void *ctx, const void *within, const char *folder,
                    kg_error *err) {
    struct sigaction act = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
    const struct itimerval ticks = {{0, INTERVAL_US}, {0, INTERVAL_US}}, none = {{0, 0}, {0, 0}};
    void *frames[2];
    seen.object = (range){.inside = (uintptr_t)within};
    seen.n = 0;
    if (!dl_iterate_phdr(look_inside, &seen.object)) return kg_fail(err, KG_ERR_CANNOT, "no shared object to sample");
    backtrace(frames, 2);  // the first one loads the unwinder, which a handler must not
    if (sigaction(SIGALRM, &act, &before)) return kg_fail(err, KG_ERR_CANNOT, "sigaction: %s", strerror(errno));
    setitimer(ITIMER_REAL, &ticks, NULL);
    const int failed = call_for_a_while(call, ctx, err);
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    return failed ? -1 : write_samples(folder, err);
}
