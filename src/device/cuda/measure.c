// Ceilings of one device: the most that its memory and its arithmetic give to a simple, large piece of work.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda/rates.h"
#include "kgate/kgate.h"
#include "measure/measure.h"

#define THREADS    256
#define TILE_BYTES ((uint64_t)THREADS * 8 * 16)  // of one block of kg_rate_read, _write, _copy

typedef struct {
    cuda_device *d;
    kcu_ptr from, to, sink;
    uint64_t bytes;  // of each buffer
    void (*progress)(const char *what, void *ctx);
    void *ctx;
} bench;

static double faster(double a, double b) { return isnan(a) || b > a ? b : a; }

static void say(const bench *m, const char *what) {
    if (m->progress) m->progress(what, m->ctx);
}

// ---- bandwidth ----------------------------------------------------------------------------------
static int enqueue_read(void *ctx, kg_error *err) {
    bench *m = ctx;
    uint64_t vectors = m->bytes / 16;
    return kg_cuda_launch(m->d, KG_K_RATE_READ, m->bytes / TILE_BYTES, (void *[]){&m->from, &vectors, &m->sink}, err);
}
static int enqueue_write(void *ctx, kg_error *err) {
    bench *m = ctx;
    uint64_t vectors = m->bytes / 16;
    uint32_t word = 0x3f8ccccd;
    return kg_cuda_launch(m->d, KG_K_RATE_WRITE, m->bytes / TILE_BYTES, (void *[]){&m->to, &vectors, &word}, err);
}
static int enqueue_memset(void *ctx, kg_error *err) {
    bench *m = ctx;
    CUDA_CHECK(m->d, m->d->api.MemsetD8Async(m->to, 0x5a, m->bytes, m->d->stream), "writing device memory", err);
    return 0;
}
static int enqueue_copy(void *ctx, kg_error *err) {
    bench *m = ctx;
    uint64_t vectors = m->bytes / 16;
    return kg_cuda_launch(m->d, KG_K_RATE_COPY, m->bytes / TILE_BYTES, (void *[]){&m->from, &m->to, &vectors}, err);
}
static int enqueue_memcpy(void *ctx, kg_error *err) {
    bench *m = ctx;
    CUDA_CHECK(m->d, m->d->api.MemcpyDtoDAsync(m->to, m->from, m->bytes, m->d->stream), "copying device memory", err);
    return 0;
}
static int enqueue_cached(void *ctx, kg_error *err) {
    bench *m = ctx;
    uint64_t vectors = m->bytes / 16;
    return kg_cuda_launch(m->d, KG_K_RATE_COPY_CACHED, (uint64_t)m->d->sms * 8, (void *[]){&m->from, &m->to, &vectors},
                          err);
}

static int bandwidth(bench *m, kg_cuda_work work, double bytes, double *rate, kg_error *err) {
    double s;
    if (kg_cuda_best_time(m->d, work, m, 0.03, 4, &s, err) != 0) return -1;
    *rate = faster(*rate, bytes / s);
    return 0;
}

static int measure_bandwidth(bench *m, kg_ceilings *out, kg_error *err) {
    const double n = (double)m->bytes;
    bench small = *m;
    say(m, "memory bandwidth");
    if (bandwidth(m, enqueue_read, n, &out->read_bytes_s, err) != 0 ||
        bandwidth(m, enqueue_write, n, &out->write_bytes_s, err) != 0 ||
        bandwidth(m, enqueue_memset, n, &out->write_bytes_s, err) != 0 ||
        bandwidth(m, enqueue_copy, 2 * n, &out->copy_bytes_s, err) != 0 ||
        bandwidth(m, enqueue_memcpy, 2 * n, &out->copy_bytes_s, err) != 0)
        return -1;
    small.bytes = (uint64_t)8 << 20;  // 16 MB in all
    return bandwidth(&small, enqueue_cached, 2.0 * (double)small.bytes, &out->cache_bytes_s, err);
}

// ---- arithmetic in registers --------------------------------------------------------------------
typedef struct {
    bench *m;
    kg_cuda_kernel kernel;
    int rounds;
    uint32_t operand, mask;  // matrix kernels only
} loop;

static uint64_t loop_blocks(const bench *m) { return (uint64_t)m->d->sms * 16; }

static int enqueue_loop(void *ctx, kg_error *err) {
    loop *l = ctx;
    return kg_cuda_launch(l->m->d, l->kernel, loop_blocks(l->m),
                          (void *[]){&l->m->sink, &l->rounds, &l->operand, &l->mask}, err);
}

// ops_per_round: operations of one warp in one round. Rounds grow until a launch takes a millisecond or more.
static int loop_rate(bench *m, loop l, double ops_per_round, double *rate, kg_error *err) {
    double s = 0;
    l.m = m;
    for (l.rounds = 64; l.rounds < 1 << 20; l.rounds *= 4) {
        if (kg_cuda_best_time(m->d, enqueue_loop, &l, 0, 1, &s, err) != 0) return -1;
        if (s > 1e-3) break;
    }
    if (kg_cuda_best_time(m->d, enqueue_loop, &l, 0.03, 3, &s, err) != 0) return -1;
    *rate = faster(*rate, ops_per_round * l.rounds * (double)loop_blocks(m) * (THREADS / 32.0) / s);
    return 0;
}

static int measure_loops(bench *m, kg_ceilings *out, kg_error *err) {
    const double chains = 16 * 8 * 32;  // 16 steps of 8 chains in 32 lanes; a multiply-add counts two
    say(m, "multiply-add loops");
    if (loop_rate(m, (loop){.kernel = KG_K_RATE_FP32}, 2 * chains, &out->ops_s[KG_U_FP32], err) != 0 ||
        loop_rate(m, (loop){.kernel = KG_K_RATE_FP64}, 2 * chains, &out->ops_s[KG_U_FP64], err) != 0 ||
        loop_rate(m, (loop){.kernel = KG_K_RATE_INT}, 2 * chains, &out->ops_s[KG_U_INT], err) != 0)
        return -1;
    return loop_rate(m, (loop){.kernel = KG_K_RATE_SPECIAL}, chains, &out->ops_s[KG_U_SPECIAL], err);
}

// Warp-level products, where cuBLASLt gave no rate. Operands: ones with random fraction bits.
static int measure_matrix_loops(bench *m, kg_ceilings *out, kg_error *err) {
    static const struct {
        kg_cuda_kernel kernel;
        kg_unit unit;
        double k;
        uint32_t operand, mask;
    } all[] = {
        {KG_K_MMA_BF16, KG_U_FP16, 16, 0x3f803f80, 0x007f007f}, {KG_K_MMA_FP16, KG_U_FP16, 16, 0x3c003c00, 0x03ff03ff},
        {KG_K_MMA_TF32, KG_U_TF32, 8, 0x3f800000, 0x007fe000},  {KG_K_MMA_INT8, KG_U_INT8, 32, 0x01010101, 0x7f7f7f7f},
        {KG_K_MMA_FP8, KG_U_FP8, 32, 0x38383838, 0x07070707},
    };
    double rates[8];
    for (int u = 0; u < 8; u++) rates[u] = NAN;
    say(m, "matrix units");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!m->d->kernels.fn[all[i].kernel] || !isnan(out->ops_s[all[i].unit])) continue;
        const loop l = {.kernel = all[i].kernel, .operand = all[i].operand, .mask = all[i].mask};
        if (loop_rate(m, l, 16 * 2.0 * 16 * 8 * all[i].k, &rates[all[i].unit], err) != 0) return -1;
    }
    for (int u = 0; u < 8; u++)
        if (isnan(out->ops_s[u])) out->ops_s[u] = rates[u];
    return 0;
}

// Libraries that are missing leave their ceilings to the loops. The text names what was used.
static char *measure_products(bench *m, kg_ceilings *out) {
    kg_blas_rates r;
    double *ops = out->ops_s;
    if (kg_cuda_blas_rates(m->d, ops[KG_U_FP64], ops[KG_U_FP32], m->progress, m->ctx, &r, NULL) != 0)
        return kg_strdup("no cuBLASLt: warp-level products");
    if (!isnan(r.fp64)) ops[KG_U_FP64] = faster(ops[KG_U_FP64], r.fp64);
    if (!isnan(r.fp32)) ops[KG_U_FP32] = faster(ops[KG_U_FP32], r.fp32);
    ops[KG_U_TF32] = r.tf32;
    ops[KG_U_FP16] = isnan(r.bf16) ? r.fp16 : isnan(r.fp16) ? r.bf16 : faster(r.bf16, r.fp16);
    ops[KG_U_FP8] = r.fp8;
    ops[KG_U_INT8] = r.int8;
    return r.version;
}

// ---- launch floor -------------------------------------------------------------------------------
#define PAIRS 64

static int record_pairs(cuda_device *d, kcu_event *e, bool empty, kg_error *err) {
    for (int i = 0; i < PAIRS; i++) {
        CUDA_CHECK(d, d->api.EventRecord(e[2 * i], d->stream), "recording an event", err);
        if (empty && kg_cuda_launch(d, KG_K_EMPTY, 1, NULL, err) != 0) return -1;
        CUDA_CHECK(d, d->api.EventRecord(e[2 * i + 1], d->stream), "recording an event", err);
    }
    return 0;
}

static int median_pair(cuda_device *d, kcu_event *e, double *seconds, kg_error *err) {
    double v[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        float ms;
        CUDA_CHECK(d, d->api.EventElapsedTime(&ms, e[2 * i], e[2 * i + 1]), "reading two events", err);
        v[i] = (double)ms * 1e-3;
    }
    *seconds = kg_median(v, PAIRS);
    return 0;
}

// An event pair around an empty kernel less one around nothing, queued behind long writes so that the host is ahead.
static int time_empty(bench *m, kcu_event *e, double *seconds, kg_error *err) {
    double with = 0, without = 0;
    for (int empty = 1; empty >= 0; empty--) {
        for (int i = 0; i < 4; i++)
            if (enqueue_memset(m, err) != 0) return -1;
        if (record_pairs(m->d, e, empty != 0, err) != 0) return -1;
        CUDA_CHECK(m->d, m->d->api.StreamSynchronize(m->d->stream), "waiting for empty kernels", err);
        if (median_pair(m->d, e, empty ? &with : &without, err) != 0) return -1;
    }
    *seconds = with > without ? with - without : with;
    return 0;
}

static int measure_launch(bench *m, kg_ceilings *out, kg_error *err) {
    kcu_event e[2 * PAIRS] = {NULL};
    int rc = 0;
    say(m, "launch floor");
    for (int i = 0; i < 2 * PAIRS && rc == 0; i++)
        rc = kg_cuda_check(&m->d->api, m->d->api.EventCreate(&e[i], KCU_EVENT_DEFAULT), KG_ERR_INTERNAL,
                           "making an event", err);
    for (int warm = 0; warm < 2 && rc == 0; warm++) rc = time_empty(m, e, &out->launch_s, err);
    for (int i = 0; i < 2 * PAIRS; i++)
        if (e[i]) m->d->api.EventDestroy(e[i]);
    return rc;
}

// -------------------------------------------------------------------------------------------------
static int open_bench(bench *m, kg_error *err) {
    size_t free_bytes = 0, total = 0;
    const kg_fill normal = {KG_FILL_NORMAL, 0, 1};
    CUDA_CHECK(m->d, m->d->api.MemGetInfo(&free_bytes, &total), "reading free device memory", err);
    m->bytes = (uint64_t)4 << 30;
    while (m->bytes > free_bytes / 4) m->bytes /= 2;
    CUDA_CHECK(m->d, m->d->api.MemAlloc(&m->from, 2 * m->bytes + 256), "device memory for measuring", err);
    m->to = m->from + m->bytes;
    m->sink = m->to + m->bytes;
    return kg_cuda_fill_memory(m->d, m->from, KG_F32, m->bytes / 2, &normal, err);  // both buffers
}

static char *source_text(const char *library) {
    char date[32];
    const time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    strftime(date, sizeof date, "%Y-%m-%d", &t);
    return kg_format("kgate %s, %s, %s", KGATE_VERSION, library, date);
}

int kg_cuda_measure(kg_device *base, kg_ceilings *out, void (*progress)(const char *what, void *ctx), void *ctx,
                    kg_error *err) {
    bench m = {.d = (cuda_device *)base, .progress = progress, .ctx = ctx};
    *out = (kg_ceilings){.read_bytes_s = NAN,
                         .write_bytes_s = NAN,
                         .copy_bytes_s = NAN,
                         .launch_s = NAN,
                         .one_core_copy_bytes_s = NAN,
                         .one_core_fp32_ops_s = NAN,
                         .cache_bytes_s = NAN};
    for (int u = 0; u < 8; u++) out->ops_s[u] = NAN;
    if (kg_cuda_ready(m.d, err) != 0) return -1;
    int rc = open_bench(&m, err);
    if (rc == 0) rc = measure_launch(&m, out, err);
    if (rc == 0) rc = measure_bandwidth(&m, out, err);
    if (rc == 0) rc = measure_loops(&m, out, err);
    if (rc == 0) {
        char *library = measure_products(&m, out);
        rc = measure_matrix_loops(&m, out, err);
        out->source = source_text(library);
        free(library);
    }
    if (m.from) m.d->api.MemFree(m.from);
    return rc;
}
