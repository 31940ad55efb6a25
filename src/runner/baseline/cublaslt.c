// cuBLASLt: products on CUDA. The library is column-major, and a row-major C = A B is the column-major C' = B' A': so
// our right operand is its A, our left one its B, and no data moves. Everything goes into the legacy default stream;
// descriptors, workspace and the algorithm are made in prepare. Source: cuBLAS library manual, "Using the cuBLASLt
// API".
#include <stdlib.h>
#include <string.h>

#include "device/cuda/api/cublaslt.h"
#include "runner/baseline/baseline.h"
#include "runner/cuda/cuda_rt.h"

#define LIBRARY   "cublaslt"
#define WORKSPACE ((size_t)64 << 20)
#define PROPOSALS 8
#define ALIGNMENT 256u  // what the library assumes of addresses unless told

// One matrix per batch element, as the library sees it: column-major, `ld` elements from column to column.
typedef struct {
    kg_run_tensor t;
    int64_t rows, cols, row_step, col_step;  // as we see it
    int64_t batch_step;                      // elements; 0: the same matrix for all
    bool turned;                             // column-major as it lies
    int64_t ld;
    klt_opaque layout;
} operand;

typedef union {
    float f;
    double d;
} number;

typedef struct {
    kg_rt *rt;
    kg_cublaslt_api api;
    klt_handle handle;
    bool addmm, tf32;
    // the prepared case
    operand a, b, c, out;  // c: what beta scales; the result itself when there is none
    kg_run_tensor bias;
    bool with_bias;
    int64_t batches;
    number alpha, beta;
    klt_opaque desc, pref;
    klt_heuristic plan;
    kcu_ptr workspace;
} cublaslt;

static int refuse(kg_error *err, const char *what) { return kg_baseline_refuse(err, LIBRARY, what); }

// ---- opening ------------------------------------------------------------------------------------
static int open_library(const kg_load_request *r, int threads, void **self, kg_error *err) {
    static const char *const tasks[] = {"matmul", "matmul_fp16", "matmul_bf16", "addmm"};
    (void)threads;
    bool known = false;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) known |= !strcmp(tasks[i], r->task);
    if (!known) return refuse(err, r->task);
    if (!r->rt || strcmp(r->rt->ops->kind, "cuda")) return kg_fail(err, KG_ERR_CANNOT, LIBRARY ": needs a CUDA device");
    cublaslt *s = kg_alloc(sizeof *s);
    s->rt = r->rt;
    s->addmm = !strcmp(r->task, "addmm");
    s->tf32 = r->entry && !strncmp(r->entry, "tf32:", 5);
    int failed = kg_cuda_rt_enter(s->rt, err) || kg_cublaslt_open(&s->api, err);
    const int status = failed ? 0 : s->api.create(&s->handle);
    if (status) kg_fail(err, KG_ERR_CANNOT, LIBRARY ": cublasLtCreate: status %d", status);
    if (failed || status) return free(s), -1;
    *self = s;
    return 0;
}

// Forgets the case. Work that still reads the workspace ends first: cuMemFree waits for it.
static void reset(cublaslt *s) {
    operand *all[] = {&s->a, &s->b, &s->c, &s->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->layout) s->api.layout_destroy(all[i]->layout);
        *all[i] = (operand){0};
    }
    if (s->desc) s->api.desc_destroy(s->desc);
    if (s->pref) s->api.pref_destroy(s->pref);
    if (s->workspace) kg_cuda_rt_api(s->rt)->MemFree(s->workspace);
    s->desc = s->pref = NULL;
    s->workspace = 0;
    s->with_bias = false;
}

static void close_library(void *self) {
    cublaslt *s = self;
    if (kg_cuda_rt_enter(s->rt, NULL) == 0) {
        reset(s);
        s->api.destroy(s->handle);
    }
    free(s);
}

// ---- reading the case ---------------------------------------------------------------------------
// The last two dimensions as a matrix; a vector is a row on the left and a column on the right.
static operand as_matrix(const kg_run_tensor *t, bool left) {
    const kg_tensor *d = &t->desc;
    operand m = {.t = *t, .rows = 1, .cols = 1};
    const int n = d->ndim;
    if (n == 1 && left) m.cols = d->shape[0], m.col_step = d->stride[0];
    else if (n == 1) m.rows = d->shape[0], m.row_step = d->stride[0];
    else {
        m.rows = d->shape[n - 2], m.row_step = d->stride[n - 2];
        m.cols = d->shape[n - 1], m.col_step = d->stride[n - 1];
    }
    return m;
}

static bool lay_out(operand *m) {
    m->turned = false;
    m->ld = m->rows > 1 ? m->row_step : m->cols;
    if ((m->cols <= 1 || m->col_step == 1) && m->ld >= m->cols) return true;
    m->turned = true;
    m->ld = m->cols > 1 ? m->col_step : m->rows;
    return (m->rows <= 1 || m->row_step == 1) && m->ld >= m->rows;
}

// The step from batch element to batch element, when there is one: batch dimensions i of the result's `n`.
static bool batch_step(operand *m, const kg_tensor *out, int n) {
    const kg_tensor *d = &m->t.desc;
    const int extra = n - (d->ndim > 2 ? d->ndim - 2 : 0);
    int64_t count = 1;
    for (int i = n - 1; i >= 0; i--) {
        if (out->shape[i] == 1) continue;
        const int64_t step = i < extra || d->shape[i - extra] == 1 ? 0 : d->stride[i - extra];
        if (count == 1) m->batch_step = step;
        else if (step != m->batch_step * count) return false;
        count *= out->shape[i];
    }
    return true;
}

static int read_batches(cublaslt *s, kg_error *err) {
    const kg_tensor *a = &s->a.t.desc, *b = &s->b.t.desc, *out = &s->out.t.desc;
    const int most = a->ndim > b->ndim ? a->ndim : b->ndim, n = most > 2 ? most - 2 : 0;
    s->batches = 1;
    for (int i = 0; i < n; i++) s->batches *= out->shape[i];
    if (b->ndim <= 2 && n > 0 && kg_is_contiguous(a)) {  // many matrices times one: a single tall product
        s->a.rows *= s->batches;
        s->a.row_step = s->a.cols, s->a.col_step = 1;
        s->batches = 1;
    } else if (!batch_step(&s->a, out, n) || !batch_step(&s->b, out, n) || s->batches > INT32_MAX) {
        return refuse(err, "product whose batches do not lie at one step");
    }
    s->out.rows = s->a.rows, s->out.cols = s->b.cols;
    s->out.row_step = s->out.cols, s->out.col_step = 1;
    s->out.batch_step = s->out.rows * s->out.cols;
    return 0;
}

static int read_addend(cublaslt *s, const kg_run_case *c, double *beta, kg_error *err) {
    const kg_run_tensor *input = kg_baseline_tensor(c, "input");
    *beta = kg_baseline_float(c, "beta", 1);
    if (*beta == 0) return 0;  // it is not looked at
    kg_tensor view;
    if (!input || input->desc.dtype != s->out.t.desc.dtype || kg_expand(&input->desc, &s->out.t.desc, &view))
        return refuse(err, "addmm of this input");
    if (view.shape[0] > 1 && view.stride[0] == 0 && (view.shape[1] == 1 || view.stride[1] == 1)) {
        if (*beta != 1) return refuse(err, "addmm with a scaled row");
        s->bias = *input;
        s->with_bias = true;
        *beta = 0;
        return 0;
    }
    s->c = as_matrix(&(kg_run_tensor){view, input->base, input->offset, input->slot_stride, false}, true);
    return lay_out(&s->c) && !s->c.turned ? 0 : refuse(err, "addmm with an input of this layout");
}

static int read_case(cublaslt *s, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *a = kg_baseline_tensor(c, s->addmm ? "mat1" : "input");
    const kg_run_tensor *b = kg_baseline_tensor(c, s->addmm ? "mat2" : "other"), *out = kg_baseline_out(c);
    if (!a || !b || a->desc.dtype != b->desc.dtype || a->desc.dtype != out->desc.dtype)
        return refuse(err, "product of these operands");
    if (a->desc.ndim == 0 || b->desc.ndim == 0) return refuse(err, "product of numbers");
    s->a = as_matrix(a, true), s->b = as_matrix(b, false), s->out.t = *out;
    if (kg_numel(&a->desc) == 0 || kg_numel(&b->desc) == 0) return refuse(err, "product of empty matrices");
    if (!kg_is_contiguous(&out->desc)) return refuse(err, "strided product");
    double alpha = 1, beta = 0;
    if (read_batches(s, err)) return -1;
    if (s->addmm) alpha = kg_baseline_float(c, "alpha", 1);
    if (s->addmm && read_addend(s, c, &beta, err)) return -1;
    if (!lay_out(&s->a) || !lay_out(&s->b) || !lay_out(&s->out))
        return refuse(err, "product of matrices without a unit stride");
    if (beta == 0) s->c = s->out;
    const bool wide = a->desc.dtype == KG_F64;
    s->alpha = wide ? (number){.d = alpha} : (number){.f = (float)alpha};
    s->beta = wide ? (number){.d = beta} : (number){.f = (float)beta};
    return 0;
}

// ---- planning -----------------------------------------------------------------------------------
// The largest power of two, up to the library's own, that divides every address of the operand.
static uint32_t alignment(const operand *m) {
    const uint64_t step = (uint64_t)m->batch_step * kg_dtype_size(m->t.desc.dtype);
    const uint64_t all = (uintptr_t)m->t.base | m->t.offset | m->t.slot_stride | step | ALIGNMENT;
    return (uint32_t)(all & (~all + 1));
}

static int describe(const cublaslt *s, operand *m, int type, int alignment_of) {
    const int32_t batches = (int32_t)s->batches;
    const uint32_t aligned = alignment(m);
    const uint64_t rows = (uint64_t)(m->turned ? m->rows : m->cols), cols = (uint64_t)(m->turned ? m->cols : m->rows);
    int r = s->api.layout_create(&m->layout, type, rows, cols, m->ld);
    if (!r) r = s->api.layout_set(m->layout, KLT_LAYOUT_BATCH_COUNT, &batches, sizeof batches);
    if (!r) r = s->api.layout_set(m->layout, KLT_LAYOUT_BATCH_STEP, &m->batch_step, sizeof m->batch_step);
    if (!r) r = s->api.pref_set(s->pref, alignment_of, &aligned, sizeof aligned);
    return r;
}

static int set_bias(const cublaslt *s, int slot) {
    const kcu_ptr p = (uintptr_t)kg_baseline_at(&s->bias, slot);
    return s->api.desc_set(s->desc, KLT_DESC_BIAS_POINTER, &p, sizeof p);
}

static int describe_all(cublaslt *s, int type, int compute) {
    const kg_cublaslt_api *api = &s->api;
    const int32_t turned = KLT_OP_T, bias = KLT_EPILOGUE_BIAS;
    const size_t workspace = WORKSPACE;
    int r = api->desc_create(&s->desc, compute, type == KLT_R_64F ? KLT_R_64F : KLT_R_32F);
    if (!r && s->b.turned) r = api->desc_set(s->desc, KLT_DESC_TRANSA, &turned, sizeof turned);
    if (!r && s->a.turned) r = api->desc_set(s->desc, KLT_DESC_TRANSB, &turned, sizeof turned);
    if (!r && s->with_bias) r = api->desc_set(s->desc, KLT_DESC_EPILOGUE, &bias, sizeof bias);
    if (!r && s->with_bias) r = set_bias(s, 0);
    if (!r) r = api->pref_create(&s->pref);
    if (!r) r = api->pref_set(s->pref, KLT_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (!r) r = describe(s, &s->b, type, KLT_PREF_ALIGNMENT_A);
    if (!r) r = describe(s, &s->a, type, KLT_PREF_ALIGNMENT_B);
    if (!r) r = describe(s, &s->c, type, KLT_PREF_ALIGNMENT_C);
    if (!r) r = describe(s, &s->out, type, KLT_PREF_ALIGNMENT_D);
    return r;
}

static int choose(cublaslt *s, kg_error *err) {
    klt_heuristic h[PROPOSALS];
    int found = 0, best = 0;
    const int r = s->api.heuristic(s->handle, s->desc, s->b.layout, s->a.layout, s->c.layout, s->out.layout, s->pref,
                                   PROPOSALS, h, &found);
    while (!r && best < found && h[best].state != 0) best++;
    if (r || best >= found) return refuse(err, "product of these shapes and layouts");
    s->plan = h[best];
    if (s->plan.workspace == 0) return 0;
    const kg_cuda_api *cuda = kg_cuda_rt_api(s->rt);
    return kg_cuda_check(cuda, cuda->MemAlloc(&s->workspace, s->plan.workspace), KG_ERR_CANNOT,
                         LIBRARY ": no memory for a workspace", err);
}

static int plan(cublaslt *s, kg_error *err) {
    static const struct {
        kg_dtype dtype;
        int type, compute;
    } types[] = {{KG_F64, KLT_R_64F, KLT_COMPUTE_64F},
                 {KG_F32, KLT_R_32F, KLT_COMPUTE_32F},
                 {KG_F16, KLT_R_16F, KLT_COMPUTE_32F},
                 {KG_BF16, KLT_R_16BF, KLT_COMPUTE_32F}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].dtype != s->out.t.desc.dtype) continue;
        const bool tf32 = types[i].dtype == KG_F32 && s->tf32;
        const int r = describe_all(s, types[i].type, tf32 ? KLT_COMPUTE_32F_FAST_TF32 : types[i].compute);
        if (r) return kg_fail(err, KG_ERR_CANNOT, LIBRARY ": describing the product: status %d", r);
        return choose(s, err);
    }
    return refuse(err, "product in this dtype");
}

static int prepare(void *self, const kg_run_case *c, kg_error *err) {
    cublaslt *s = self;
    if (kg_cuda_rt_enter(s->rt, err)) return -1;
    reset(s);
    if (!read_case(s, c, err) && !plan(s, err)) return 0;
    reset(s);
    return -1;
}

static kcu_ptr at(const operand *m, int slot) { return (uintptr_t)kg_baseline_at(&m->t, slot); }

static int call(void *self, int slot, kg_error *err) {
    cublaslt *s = self;
    int r = s->with_bias ? set_bias(s, slot) : 0;
    if (!r)
        r = s->api.matmul(s->handle, s->desc, &s->alpha, at(&s->b, slot), s->b.layout, at(&s->a, slot), s->a.layout,
                          &s->beta, at(&s->c, slot), s->c.layout, at(&s->out, slot), s->out.layout, &s->plan.algo,
                          s->workspace, s->plan.workspace, NULL);
    return r ? kg_fail(err, KG_ERR_CANNOT, LIBRARY ": cublasLtMatmul: status %d", r) : 0;
}

const kg_baseline_lib kg_baseline_cublaslt = {LIBRARY, open_library, prepare, call, close_library};
