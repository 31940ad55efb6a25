// The CPU's ceilings, within about two seconds: best of several undisturbed repeats, threads pinned.
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "device/cpu/cpu.h"
#include "device/cpu/stream.h"
#include "kgate/kgate.h"

static void say(void (*progress)(const char *, void *), void *ctx, const char *what) {
    if (progress) progress(what, ctx);
}

// Four times the last-level cache each, at least 256 MiB, at most an eighth of what is free.
static size_t buffer_bytes(uint64_t free_bytes) {
    uint64_t n = 4 * kg_cpu_cache_bytes(), least = (uint64_t)256 << 20;
    if (n < least) n = least;
    if (free_bytes && n > free_bytes / 8) n = free_bytes / 8;
    return (size_t)(n / 4096 * 4096);
}

static int measure_memory(kg_device *d, kg_ceilings *out, kg_error *err) {
    kg_device_info info;
    if (kg_cpu_describe(d, &info, err)) return -1;
    size_t bytes = buffer_bytes(info.free_bytes);
    kg_device_info_free(&info);
    kg_arena *a = NULL, *b = NULL;
    int failed = kg_cpu_arena_create(d, bytes, true, &a, err) || kg_cpu_arena_create(d, bytes, true, &b, err);
    if (!failed) {
        bool quiet = true;
        char *to = ((kg_cpu_arena *)a)->data, *from = ((kg_cpu_arena *)b)->data;
        kg_cpu_bandwidth all = kg_cpu_stream(to, from, bytes, kg_cpu_threads(), &quiet);
        out->read_bytes_s = all.read;
        out->write_bytes_s = all.write;
        out->copy_bytes_s = all.copy;
        out->one_core_copy_bytes_s = kg_cpu_stream(to, from, bytes, 1, &quiet).copy;
        out->cache_bytes_s = kg_cpu_cached_copy(to, from, (size_t)kg_cpu_cache_bytes() / 4, kg_cpu_threads(), &quiet);
        out->disturbed |= !quiet;
    }
    kg_cpu_arena_destroy(a);
    kg_cpu_arena_destroy(b);
    return failed ? -1 : 0;
}

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn;  // even: the caller's, odd: the sleeper's, negative: over
} relay;

static void *sleeper(void *arg) {
    relay *r = arg;
    pthread_mutex_lock(&r->lock);
    while (r->turn >= 0) {
        while (r->turn >= 0 && r->turn % 2 == 0) pthread_cond_wait(&r->changed, &r->lock);
        if (r->turn < 0) break;
        r->turn++;
        pthread_cond_signal(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static double relay_once(relay *r) {
    double start = kg_now();
    pthread_mutex_lock(&r->lock);
    int mine = ++r->turn + 1;
    pthread_cond_signal(&r->changed);
    while (r->turn != mine) pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return kg_now() - start;
}

// The floor of a call that uses more than one core: waking a sleeping thread and being woken by it, the least over
// many. A kernel on one core pays less, but is not expected to beat a library that uses them all.
static double call_floor(void) {
    relay r = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    pthread_t other;
    if (pthread_create(&other, NULL, sleeper, &r)) return NAN;
    double best = INFINITY;
    for (int i = 0; i < 2000; i++) best = fmin(best, relay_once(&r));
    pthread_mutex_lock(&r.lock);
    r.turn = -1;
    pthread_cond_signal(&r.changed);
    pthread_mutex_unlock(&r.lock);
    pthread_join(other, NULL);
    return best;
}

static char *source(bool disturbed) {
    time_t now = time(NULL);
    struct tm t;
    char date[16] = "";
    if (gmtime_r(&now, &t)) strftime(date, sizeof date, "%Y-%m-%d", &t);
    return kg_format("kgate %s, %d threads, %s%s", KGATE_VERSION, kg_cpu_threads(), date,
                     disturbed ? ", on a busy machine: too low" : "");
}

int kg_cpu_measure(kg_device *d, kg_ceilings *out, void (*progress)(const char *what, void *ctx), void *ctx,
                   kg_error *err) {
    static const kg_unit units[] = {KG_U_FP64, KG_U_FP32, KG_U_TF32, KG_U_FP16, KG_U_INT8};
    *out = (kg_ceilings){.read_bytes_s = NAN};
    for (int u = 0; u < 8; u++) out->ops_s[u] = NAN;
    say(progress, ctx, "bandwidth");
    if (measure_memory(d, out, err)) return -1;
    say(progress, ctx, "arithmetic");
    bool quiet = true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        out->ops_s[units[i]] = kg_cpu_rate(units[i], kg_cpu_threads(), &quiet);
    out->one_core_fp32_ops_s = kg_cpu_rate(KG_U_FP32, 1, &quiet);
    out->disturbed |= !quiet;
    out->launch_s = call_floor();
    out->source = source(out->disturbed);
    return 0;
}
