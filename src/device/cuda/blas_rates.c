// Matrix rates through cuBLASLt: the fastest of its proposals for one large square product per precision.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/cuda/api/cublaslt.h"
#include "device/cuda/rates.h"

#define WORKSPACE ((size_t)256 << 20)
#define PROPOSALS 8
#define WINDOWS   5
#define PAUSE_US  30000

// One precision. `in` is the kgate dtype that the inputs are drawn in; fp8 is converted from float32.
typedef struct {
    const char *name;
    int in_type, out_type, compute, scale;
    kg_dtype in;
    double most;  // inputs: normal(0, 1), or integers -most..most
} precision;

static const precision fp64 = {"fp64 product", KLT_R_64F, KLT_R_64F, KLT_COMPUTE_64F, KLT_R_64F, KG_F64, 0};
static const precision fp32 = {"fp32 product", KLT_R_32F, KLT_R_32F, KLT_COMPUTE_32F, KLT_R_32F, KG_F32, 0};
static const precision tf32 = {"tf32 product", KLT_R_32F, KLT_R_32F, KLT_COMPUTE_32F_FAST_TF32, KLT_R_32F, KG_F32, 0};
static const precision bf16 = {"bf16 product", KLT_R_16BF, KLT_R_16BF, KLT_COMPUTE_32F, KLT_R_32F, KG_BF16, 0};
static const precision fp16 = {"fp16 product", KLT_R_16F, KLT_R_16F, KLT_COMPUTE_32F, KLT_R_32F, KG_F16, 0};
static const precision int8 = {"int8 product", KLT_R_8I, KLT_R_32I, KLT_COMPUTE_32I, KLT_R_32I, KG_I8, 127};
static const precision fp8 = {"fp8 product", KLT_R_8F_E4M3, KLT_R_16BF, KLT_COMPUTE_32F, KLT_R_32F, KG_U8, 0};

typedef struct {
    cuda_device *d;
    kg_cublaslt_api api;
    klt_handle handle;
    kcu_ptr a, b, c, workspace, scales;  // pieces of one allocation
    size_t piece;
} bench;

typedef struct {
    bench *m;
    klt_opaque desc, in, out, pref;
    const void *alpha, *beta;
    const klt_algo *algo;
    size_t workspace;
} product;

static int enqueue_product(void *ctx, kg_error *err) {
    product *p = ctx;
    bench *m = p->m;
    int r = m->api.matmul(m->handle, p->desc, p->alpha, m->a, p->in, m->b, p->in, p->beta, m->c, p->out, m->c, p->out,
                          p->algo, m->workspace, p->workspace, m->d->stream);
    if (r == 0) return 0;
    return kg_fail(err, KG_ERR_CANNOT, "cublasLtMatmul: status %d", r);
}

static int fill_inputs(bench *m, const precision *k, uint64_t n, kg_error *err) {
    const kg_fill normal = {KG_FILL_NORMAL, 0, 1}, integers = {KG_FILL_INT, -k->most, k->most};
    const kg_fill *f = k->most > 0 ? &integers : &normal;
    const kcu_ptr to[2] = {m->a, m->b};
    for (int i = 0; i < 2; i++) {
        const bool converted = k->in_type == KLT_R_8F_E4M3;
        kcu_ptr p = to[i], from = m->c;
        uint64_t count = n * n;
        if (kg_cuda_fill_memory(m->d, converted ? from : p, converted ? KG_F32 : k->in, count, f, err) != 0) return -1;
        if (converted && kg_cuda_launch(m->d, KG_K_TO_E4M3, 16384, (void *[]){&from, &p, &count}, err) != 0) return -1;
    }
    return 0;
}

// Inputs transposed-by-plain ("TN"), the one layout that every precision has, or plain-by-plain.
static int make_product(bench *m, const precision *k, uint64_t n, bool transpose, product *p) {
    const kg_cublaslt_api *a = &m->api;
    const int32_t transposed = transpose ? KLT_OP_T : KLT_OP_N;
    const int8_t fast = 1;
    const size_t workspace = WORKSPACE;
    const kcu_ptr scale_a = m->scales, scale_b = m->scales + 16;
    int r = a->desc_create(&p->desc, k->compute, k->scale);
    if (r == 0) r = a->desc_set(p->desc, KLT_DESC_TRANSA, &transposed, sizeof transposed);
    if (r == 0 && k->in_type == KLT_R_8F_E4M3) {
        r = a->desc_set(p->desc, KLT_DESC_A_SCALE_POINTER, &scale_a, sizeof scale_a);
        if (r == 0) r = a->desc_set(p->desc, KLT_DESC_B_SCALE_POINTER, &scale_b, sizeof scale_b);
        if (r == 0) r = a->desc_set(p->desc, KLT_DESC_FAST_ACCUM, &fast, sizeof fast);
    }
    if (r == 0) r = a->layout_create(&p->in, k->in_type, n, n, (int64_t)n);
    if (r == 0) r = a->layout_create(&p->out, k->out_type, n, n, (int64_t)n);
    if (r == 0) r = a->pref_create(&p->pref);
    if (r == 0) r = a->pref_set(p->pref, KLT_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    return r;
}

static void free_product(const bench *m, product *p) {
    if (p->desc) m->api.desc_destroy(p->desc);
    if (p->in) m->api.layout_destroy(p->in);
    if (p->out) m->api.layout_destroy(p->out);
    if (p->pref) m->api.pref_destroy(p->pref);
}

// Tries every proposal shortly, then times the best at length. NAN when none runs.
static double time_product(bench *m, product *p) {
    klt_heuristic h[PROPOSALS];
    int found = 0, best = -1;
    double least = NAN, s;
    if (m->api.heuristic(m->handle, p->desc, p->in, p->in, p->out, p->out, p->pref, PROPOSALS, h, &found) != 0)
        return NAN;
    for (int i = 0; i < found; i++) {
        if (h[i].state != 0) continue;
        p->algo = &h[i].algo;
        p->workspace = h[i].workspace;
        if (kg_cuda_best_time(m->d, enqueue_product, p, 0.01, 1, &s, NULL) != 0) continue;
        if (best < 0 || s < least) best = i, least = s;
    }
    if (best < 0) return NAN;
    p->algo = &h[best].algo;
    p->workspace = h[best].workspace;
    s = least;
    // Short windows with pauses: under minutes of load the card lowers its clocks, under the few calls that a kernel is
    // judged by it does not, and a ceiling is what can be reached.
    for (int i = 0; i < WINDOWS; i++) {
        double again;
        usleep(PAUSE_US);
        if (kg_cuda_best_time(m->d, enqueue_product, p, 0.012, 1, &again, NULL) == 0 && again < s) s = again;
    }
    return s;
}

static double rate_in_layout(bench *m, const precision *k, uint64_t n, bool transpose) {
    static const double one_d = 1, zero_d = 0;
    static const float one_f = 1, zero_f = 0;
    static const int32_t one_i = 1, zero_i = 0;
    product p = {.m = m, .alpha = &one_f, .beta = &zero_f};
    if (k->scale == KLT_R_64F) p.alpha = &one_d, p.beta = &zero_d;
    if (k->scale == KLT_R_32I) p.alpha = &one_i, p.beta = &zero_i;
    while (n * n * 8 > m->piece) n /= 2;
    double seconds = NAN;
    if (fill_inputs(m, k, n, NULL) == 0 && make_product(m, k, n, transpose, &p) == 0) seconds = time_product(m, &p);
    free_product(m, &p);
    return 2.0 * (double)n * (double)n * (double)n / seconds;
}

static double rate_of(bench *m, const precision *k, uint64_t n) {
    const bool only_tn = k->in_type == KLT_R_8I || k->in_type == KLT_R_8F_E4M3;
    double tn = rate_in_layout(m, k, n, true);
    return only_tn ? tn : fmax(tn, rate_in_layout(m, k, n, false));
}

static int open_bench(bench *m, kg_error *err) {
    size_t free_bytes = 0, total = 0;
    CUDA_CHECK(m->d, m->d->api.MemGetInfo(&free_bytes, &total), "reading free device memory", err);
    m->piece = (size_t)8192 * 8192 * 8;
    while (m->piece > ((size_t)1 << 20) && 3 * m->piece + WORKSPACE > free_bytes / 10 * 9) m->piece /= 4;
    CUDA_CHECK(m->d, m->d->api.MemAlloc(&m->a, 3 * m->piece + WORKSPACE + 256), "device memory for products", err);
    m->b = m->a + m->piece;
    m->c = m->b + m->piece;
    m->workspace = m->c + m->piece;
    m->scales = m->workspace + WORKSPACE;
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    CUDA_CHECK(m->d, m->d->api.MemcpyHtoDAsync(m->scales, ones, sizeof ones, m->d->stream), "copying scales", err);
    int r = m->api.create(&m->handle);
    if (r != 0) return kg_fail(err, KG_ERR_CANNOT, "cublasLtCreate: status %d", r);
    return 0;
}

static uint64_t size_for(double rate) { return rate >= 2e13 ? 8192 : rate >= 2e12 ? 4096 : 2048; }

int kg_cuda_blas_rates(cuda_device *d, double loop_fp64, double loop_fp32,
                       void (*progress)(const char *what, void *ctx), void *ctx, kg_blas_rates *out, kg_error *err) {
    *out = (kg_blas_rates){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL};
    bench m = {.d = d};
    int rc = kg_cublaslt_open(&m.api, err);
    if (rc == 0) rc = open_bench(&m, err);
    if (rc == 0) {
        const struct {
            const precision *k;
            uint64_t n;
            double *to;
        } all[] = {
            {&fp64, size_for(loop_fp64), &out->fp64},
            {&fp32, size_for(loop_fp32), &out->fp32},
            {&tf32, 8192, &out->tf32},
            {&bf16, 8192, &out->bf16},
            {&fp16, 8192, &out->fp16},
            {&fp8, 8192, &out->fp8},
            {&int8, 8192, &out->int8},
        };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (progress) progress(all[i].k->name, ctx);
            *all[i].to = rate_of(&m, all[i].k, all[i].n);
        }
        const size_t v = m.api.version();  // 130100: 13.1
        out->version = kg_format("cuBLASLt %zu.%zu", v / 10000, v / 100 % 100);
    }
    if (m.handle) m.api.destroy(m.handle);
    if (m.a) d->api.MemFree(m.a);
    return rc;
}
