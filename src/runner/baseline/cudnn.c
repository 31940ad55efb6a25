// cuDNN: conv2d on CUDA, with the library's own search over its algorithms, as PyTorch's cudnn.benchmark does it: in
// prepare, on slot 0. A call then enqueues the convolution, and the bias behind it, in the legacy default stream.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/api/cudnn.h"
#include "runner/baseline/baseline.h"
#include "runner/cuda/cuda_rt.h"

#define LIBRARY   "cudnn"
#define WORKSPACE ((size_t)64 << 20)
#define PROPOSALS 32

typedef union {
    float f;
    double d;
} number;

typedef struct {
    kg_rt *rt;
    kg_cudnn_api api;
    kdn_opaque handle;
    bool tf32;
    // the prepared case
    kg_run_tensor x, w, y, bias;
    bool with_bias;
    kdn_opaque tx, tw, ty, tbias, conv;
    int algo;
    size_t workspace_bytes;
    kcu_ptr workspace;
    number one, zero;
} cudnn;

static int refuse(kg_error *err, const char *what) { return kg_baseline_refuse(err, LIBRARY, what); }

// ---- opening ------------------------------------------------------------------------------------
static int open_library(const kg_load_request *r, int threads, void **self, kg_error *err) {
    (void)threads;
    if (strcmp(r->task, "conv2d")) return refuse(err, r->task);
    if (!r->rt || strcmp(r->rt->ops->kind, "cuda")) return kg_fail(err, KG_ERR_CANNOT, LIBRARY ": needs a CUDA device");
    cudnn *s = kg_alloc(sizeof *s);
    s->rt = r->rt;
    s->tf32 = r->entry && !strncmp(r->entry, "tf32:", 5);
    int failed = kg_cuda_rt_enter(s->rt, err) || kg_cudnn_open(&s->api, err);
    const int status = failed ? 0 : s->api.create(&s->handle);
    if (status) kg_fail(err, KG_ERR_CANNOT, LIBRARY ": cudnnCreate: status %d", status);
    if (failed || status) return free(s), -1;
    *self = s;
    return 0;
}

static void reset(cudnn *s) {
    kdn_opaque *tensors[] = {&s->tx, &s->ty, &s->tbias};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        if (*tensors[i]) s->api.tensor_destroy(*tensors[i]);
        *tensors[i] = NULL;
    }
    if (s->tw) s->api.filter_destroy(s->tw);
    if (s->conv) s->api.conv_destroy(s->conv);
    if (s->workspace) kg_cuda_rt_api(s->rt)->MemFree(s->workspace);  // waits for work that reads it
    s->tw = s->conv = NULL;
    s->workspace = 0;
    s->with_bias = false;
}

static void close_library(void *self) {
    cudnn *s = self;
    if (kg_cuda_rt_enter(s->rt, NULL) == 0) {
        reset(s);
        s->api.destroy(s->handle);
    }
    free(s);
}

// ---- describing the case --------------------------------------------------------------------------
static int type_of(kg_dtype d) {
    return d == KG_F32    ? KDN_FLOAT
           : d == KG_F64  ? KDN_DOUBLE
           : d == KG_F16  ? KDN_HALF
           : d == KG_BF16 ? KDN_BFLOAT16
                          : -1;
}

// The library counts in int; -1 fails in it.
static int narrow(int64_t v) { return v >= 0 && v <= INT_MAX ? (int)v : -1; }

// A tensor of four dimensions; an image without a batch is a batch of one.
static int describe(const cudnn *s, const kg_tensor *t, kdn_opaque *out) {
    int shape[4] = {1, 1, 1, 1}, stride[4];
    const int extra = 4 - t->ndim;
    for (int i = extra; i < 4; i++) shape[i] = narrow(t->shape[i - extra]);
    for (int i = 3; i >= 0; i--) {
        // The step of a dimension of one is never taken; the library wants one that fits all the same.
        const int64_t dense = i == 3 ? 1 : (int64_t)stride[i + 1] * shape[i + 1];
        stride[i] = narrow(shape[i] == 1 ? dense : t->stride[i - extra]);
    }
    int r = s->api.tensor_create(out);
    return r ? r : s->api.tensor_set(*out, type_of(t->dtype), 4, shape, stride);
}

static int describe_filter(cudnn *s) {
    int shape[4];
    for (int i = 0; i < 4; i++) shape[i] = narrow(s->w.desc.shape[i]);
    int r = s->api.filter_create(&s->tw);
    return r ? r : s->api.filter_set(s->tw, type_of(s->w.desc.dtype), KDN_NCHW, 4, shape);
}

// Wrong where zeros follow behind that do not stand in front, which the library does not have.
static bool symmetric(const cudnn *s, const kg_run_case *c) {
    const int last = s->x.desc.ndim - 2;
    for (int k = 0; k < 2; k++) {
        const int64_t reach = kg_baseline_entry(c, "dilation", k, 1) * (s->w.desc.shape[2 + k] - 1) + 1;
        const int64_t padded = s->x.desc.shape[last + k] + 2 * kg_baseline_entry(c, "padding", k, 0);
        const int64_t size = (padded - reach) / kg_baseline_entry(c, "stride", k, 1) + 1;
        if (padded < reach || size != s->y.desc.shape[last + k]) return false;
    }
    return true;
}

static int describe_conv(cudnn *s, const kg_run_case *c) {
    int padding[2], stride[2], dilation[2];
    for (int k = 0; k < 2; k++) {
        padding[k] = narrow(kg_baseline_entry(c, "padding", k, 0));
        stride[k] = narrow(kg_baseline_entry(c, "stride", k, 1));
        dilation[k] = narrow(kg_baseline_entry(c, "dilation", k, 1));
    }
    const kg_dtype d = s->x.desc.dtype;
    const int compute = d == KG_F64 ? KDN_DOUBLE : KDN_FLOAT;
    const int math = d == KG_F32 ? (s->tf32 ? KDN_DEFAULT_MATH : KDN_FMA_MATH)
                                 : (d == KG_F64 ? KDN_DEFAULT_MATH : KDN_TENSOR_OP_MATH);
    int r = s->api.conv_create(&s->conv);
    if (!r) r = s->api.conv_set(s->conv, 2, padding, stride, dilation, KDN_CROSS_CORRELATION, compute);
    if (!r) r = s->api.conv_set_groups(s->conv, narrow(kg_baseline_int(c, "groups", 1)));
    if (!r) r = s->api.conv_set_math(s->conv, math);
    return r;
}

static int describe_bias(cudnn *s) {
    const int64_t n = s->bias.desc.shape[0];
    const kg_tensor t = kg_tensor_contiguous(s->bias.desc.dtype, 4, (int64_t[]){1, n, 1, 1});
    return describe(s, &t, &s->tbias);
}

static int read_case(cudnn *s, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *w = kg_baseline_tensor(c, "weight");
    const kg_run_tensor *bias = kg_baseline_tensor(c, "bias"), *y = kg_baseline_out(c);
    if (!x || !w || type_of(x->desc.dtype) < 0 || x->desc.dtype != w->desc.dtype || x->desc.dtype != y->desc.dtype)
        return refuse(err, "convolution of these operands");
    if (x->desc.ndim < 3 || x->desc.ndim > 4 || x->desc.ndim != y->desc.ndim || w->desc.ndim != 4)
        return refuse(err, "convolution of these dimensions");
    if (kg_numel(&x->desc) == 0 || kg_numel(&w->desc) == 0 || kg_numel(&y->desc) == 0)
        return refuse(err, "convolution of empty images");
    if (!kg_is_contiguous(&w->desc) || !kg_is_contiguous(&y->desc)) return refuse(err, "strided filter or result");
    if (bias && (bias->desc.ndim != 1 || bias->desc.dtype != x->desc.dtype || !kg_is_contiguous(&bias->desc)))
        return refuse(err, "bias of this kind");
    s->x = *x, s->w = *w, s->y = *y;
    s->with_bias = bias != NULL;
    if (bias) s->bias = *bias;
    if (!symmetric(s, c)) return refuse(err, "padding of two sizes");
    const bool wide = x->desc.dtype == KG_F64;
    s->one = wide ? (number){.d = 1} : (number){.f = 1};
    s->zero = wide ? (number){.d = 0} : (number){.f = 0};
    int r = describe(s, &x->desc, &s->tx);
    if (!r) r = describe(s, &y->desc, &s->ty);
    if (!r) r = describe_filter(s);
    if (!r) r = describe_conv(s, c);
    if (!r && bias) r = describe_bias(s);
    return r ? refuse(err, "convolution of these shapes and strides") : 0;
}

// ---- searching ------------------------------------------------------------------------------------
static int search(cudnn *s, kg_error *err) {
    const kg_cuda_api *cuda = kg_cuda_rt_api(s->rt);
    kdn_perf results[PROPOSALS];
    int found = 0, best = 0;
    if (kg_cuda_check(cuda, cuda->MemAlloc(&s->workspace, WORKSPACE), KG_ERR_CANNOT,
                      LIBRARY ": no memory for a workspace", err))
        return -1;
    const int r =
        s->api.find(s->handle, s->tx, kg_baseline_at(&s->x, 0), s->tw, kg_baseline_at(&s->w, 0), s->conv, s->ty,
                    kg_baseline_at(&s->y, 0), PROPOSALS, &found, results, (void *)(uintptr_t)s->workspace, WORKSPACE);
    while (!r && best < found && (results[best].status != 0 || results[best].workspace > WORKSPACE)) best++;
    if (r || best >= found) return refuse(err, "algorithm for this convolution");
    s->algo = results[best].algo;
    s->workspace_bytes = results[best].workspace;
    // In float32 without tf32 what was asked for stays; else the winner may have used another way of computing.
    const bool strict = s->x.desc.dtype == KG_F32 && !s->tf32;
    return strict || !s->api.conv_set_math(s->conv, results[best].math) ? 0 : refuse(err, "way to compute this");
}

static int prepare(void *self, const kg_run_case *c, kg_error *err) {
    cudnn *s = self;
    if (kg_cuda_rt_enter(s->rt, err)) return -1;
    reset(s);
    if (!read_case(s, c, err) && !search(s, err)) return 0;
    reset(s);
    return -1;
}

static int call(void *self, int slot, kg_error *err) {
    cudnn *s = self;
    void *y = kg_baseline_at(&s->y, slot);
    int r = s->api.convolve(s->handle, &s->one, s->tx, kg_baseline_at(&s->x, slot), s->tw, kg_baseline_at(&s->w, slot),
                            s->conv, s->algo, (void *)(uintptr_t)s->workspace, s->workspace_bytes, &s->zero, s->ty, y);
    if (!r && s->with_bias)
        r = s->api.add(s->handle, &s->one, s->tbias, kg_baseline_at(&s->bias, slot), &s->one, s->ty, y);
    return r ? kg_fail(err, KG_ERR_CANNOT, LIBRARY ": convolution: status %d", r) : 0;
}

const kg_baseline_lib kg_baseline_cudnn = {LIBRARY, open_library, prepare, call, close_library};
