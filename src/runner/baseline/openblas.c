// OpenBLAS: matmul in all of torch.matmul's shapes and addmm, float32 and float64.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runner/baseline/baseline.h"

// CBLAS, the reference interface (netlib.org/blas), with 32-bit integers as Debian builds it.
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                         const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*dgemm_fn)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                         const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*sgemv_fn)(int order, int t, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                         float beta, float *y, int incy);
typedef void (*dgemv_fn)(int order, int t, int m, int n, double alpha, const double *a, int lda, const double *x,
                         int incx, double beta, double *y, int incy);
typedef void (*threads_fn)(int n);

// One operand of a product as BLAS takes it: a matrix per batch element, one of whose strides is 1.
typedef struct {
    const kg_run_tensor *from;
    int64_t rows, cols, row_step, col_step;
    int trans, ld;
    int64_t batch_step[KG_MAX_NDIM];  // elements, 0 where broadcast; in the result's batch dimensions
} operand;

typedef struct {
    void *library;
    sgemm_fn sgemm;
    dgemm_fn dgemm;
    sgemv_fn sgemv;
    dgemv_fn dgemv;
    bool addmm;
    // the prepared case
    kg_run_tensor ta, tb, tc, out;
    operand a, b;
    int ldc;
    double alpha, beta;
    int batch_ndim;
    int64_t batch_shape[KG_MAX_NDIM], out_step[KG_MAX_NDIM];
    int64_t batches;
} openblas;

static int open_library(const kg_load_request *r, int threads, void **self, kg_error *err) {
    const char *task = r->task;
    const bool addmm = !strcmp(task, "addmm");
    if (!addmm && strcmp(task, "matmul")) return kg_baseline_refuse(err, "openblas", task);
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!lib) return kg_fail(err, KG_ERR_CANNOT, "openblas: %s: install libopenblas0", dlerror());
    openblas *s = kg_alloc(sizeof *s);
    s->library = lib;
    s->addmm = addmm;
    s->sgemm = (sgemm_fn)dlsym(lib, "cblas_sgemm");
    s->dgemm = (dgemm_fn)dlsym(lib, "cblas_dgemm");
    s->sgemv = (sgemv_fn)dlsym(lib, "cblas_sgemv");
    s->dgemv = (dgemv_fn)dlsym(lib, "cblas_dgemv");
    threads_fn set_threads = (threads_fn)dlsym(lib, "openblas_set_num_threads");
    if (!s->sgemm || !s->dgemm || !s->sgemv || !s->dgemv || !set_threads) {
        free(s);
        return kg_fail(err, KG_ERR_CANNOT, "openblas: libopenblas.so.0 lacks CBLAS: install libopenblas0");
    }
    set_threads(threads);
    *self = s;
    return 0;
}

// A matrix with no unit stride cannot be handed to BLAS without a copy, which would not be the library's time.
static int lay_out(operand *m, kg_error *err) {
    int64_t ld;
    if (m->col_step == 1 || m->cols <= 1) {
        m->trans = NO_TRANS;
        ld = m->rows > 1 ? m->row_step : m->cols;
        if (ld < m->cols) ld = m->rows > 1 ? 0 : m->cols;
    } else if (m->row_step == 1 || m->rows <= 1) {
        m->trans = TRANS;
        ld = m->col_step;
        if (ld < m->rows) ld = 0;
    } else {
        return kg_baseline_refuse(err, "openblas", "product of matrices without a unit stride");
    }
    if (ld == 0) return kg_baseline_refuse(err, "openblas", "product of overlapping rows");
    m->ld = (int)(ld > 0 ? ld : 1);
    return 0;
}

// The last two dimensions of t as a matrix; a vector is a row on the left and a column on the right.
static operand as_matrix(const kg_run_tensor *t, bool left) {
    const kg_tensor *d = &t->desc;
    operand m = {.from = t, .rows = 1, .cols = 1};
    const int n = d->ndim;
    if (n == 1 && left) {
        m.cols = d->shape[0], m.col_step = d->stride[0];
    } else if (n == 1) {
        m.rows = d->shape[0], m.row_step = d->stride[0];
    } else {
        m.rows = d->shape[n - 2], m.row_step = d->stride[n - 2];
        m.cols = d->shape[n - 1], m.col_step = d->stride[n - 1];
    }
    return m;
}

static void batch_steps(operand *m, int batch_ndim) {
    const kg_tensor *d = &m->from->desc;
    const int own = d->ndim > 2 ? d->ndim - 2 : 0;
    for (int i = 0; i < own; i++) m->batch_step[batch_ndim - own + i] = d->shape[i] == 1 ? 0 : d->stride[i];
}

static int prepare_batches(openblas *s) {
    const kg_tensor *a = &s->ta.desc, *b = &s->tb.desc, *out = &s->out.desc;
    const int matrix_dims = (a->ndim > 1) + (b->ndim > 1);
    s->batch_ndim = a->ndim > 2 || b->ndim > 2 ? out->ndim - matrix_dims : 0;
    s->batches = 1;
    for (int i = 0; i < s->batch_ndim; i++) {
        s->batch_shape[i] = out->shape[i];
        s->out_step[i] = out->stride[i];
        s->batches *= out->shape[i];
    }
    batch_steps(&s->a, s->batch_ndim);
    batch_steps(&s->b, s->batch_ndim);
    // Many matrices times one: a single tall product when the left operand and the result are dense.
    bool one_right = s->b.from->desc.ndim <= 2 && s->batch_ndim > 0;
    if (one_right && a->ndim > 1 && kg_is_contiguous(a) && kg_is_contiguous(out)) {
        s->a.rows *= s->batches;
        s->batches = 1;
        s->batch_ndim = 0;
    }
    return 0;
}

static int prepare(void *self, const kg_run_case *c, kg_error *err) {
    openblas *s = self;
    const kg_run_tensor *a = kg_baseline_tensor(c, s->addmm ? "mat1" : "input");
    const kg_run_tensor *b = kg_baseline_tensor(c, s->addmm ? "mat2" : "other");
    if (!a || !b) return kg_baseline_refuse(err, "openblas", "product without two tensors");
    s->ta = *a, s->tb = *b, s->out = *kg_baseline_out(c);
    const kg_dtype d = a->desc.dtype;
    if (d != KG_F32 && d != KG_F64) return kg_baseline_refuse(err, "openblas", "product in this dtype");
    if (kg_numel(&s->out.desc) == 0 || kg_numel(&a->desc) == 0)
        return kg_baseline_refuse(err, "openblas", "product of empty matrices");
    if (!kg_is_contiguous(&s->out.desc)) return kg_baseline_refuse(err, "openblas", "strided result");
    s->alpha = 1, s->beta = 0;
    if (s->addmm) {
        const kg_run_tensor *input = kg_baseline_tensor(c, "input");
        if (!input) return kg_baseline_refuse(err, "openblas", "addmm without an input");
        s->alpha = kg_baseline_float(c, "alpha", 1);
        s->beta = kg_baseline_float(c, "beta", 1);
        s->tc = *input;
        if (kg_expand(&input->desc, &s->out.desc, &s->tc.desc))
            return kg_baseline_refuse(err, "openblas", "addmm whose input does not broadcast");
    }
    s->a = as_matrix(&s->ta, true);
    s->b = as_matrix(&s->tb, false);
    prepare_batches(s);
    s->ldc = (int)s->b.cols;
    return lay_out(&s->a, err) || lay_out(&s->b, err) ? -1 : 0;
}

// The addend goes into the result first; BLAS then scales it by beta.
static void copy_addend(const openblas *s, int slot) {
    const kg_tensor *t = &s->tc.desc;
    const size_t size = kg_dtype_size(t->dtype);
    const char *from = kg_baseline_at(&s->tc, slot);
    char *to = kg_baseline_at(&s->out, slot);
    const int64_t rows = t->shape[0], cols = t->shape[1];
    for (int64_t i = 0; i < rows; i++) {
        const char *row = from + (size_t)(i * t->stride[0]) * size;
        if (t->stride[1] == 1) {
            memcpy(to + (size_t)(i * cols) * size, row, (size_t)cols * size);
            continue;
        }
        for (int64_t j = 0; j < cols; j++)
            memcpy(to + (size_t)(i * cols + j) * size, row + (size_t)(j * t->stride[1]) * size, size);
    }
}

static void multiply(const openblas *s, const void *a, const void *b, void *c) {
    const int m = (int)s->a.rows, n = (int)s->b.cols, k = (int)s->a.cols;
    const bool wide = s->ta.desc.dtype == KG_F64;
    if (n == 1 && s->b.rows >= 1) {  // matrix times vector; dimensions of A as stored
        const bool t = s->a.trans == TRANS;
        const int rows = t ? k : m, cols = t ? m : k, step = s->b.rows > 1 ? (int)s->b.row_step : 1;
        if (wide) s->dgemv(ROW_MAJOR, s->a.trans, rows, cols, s->alpha, a, s->a.ld, b, step, s->beta, c, 1);
        else s->sgemv(ROW_MAJOR, s->a.trans, rows, cols, (float)s->alpha, a, s->a.ld, b, step, (float)s->beta, c, 1);
        return;
    }
    if (wide)
        s->dgemm(ROW_MAJOR, s->a.trans, s->b.trans, m, n, k, s->alpha, a, s->a.ld, b, s->b.ld, s->beta, c, s->ldc);
    else
        s->sgemm(ROW_MAJOR, s->a.trans, s->b.trans, m, n, k, (float)s->alpha, a, s->a.ld, b, s->b.ld, (float)s->beta, c,
                 s->ldc);
}

static int call(void *self, int slot, kg_error *err) {
    (void)err;
    openblas *s = self;
    const size_t size = kg_dtype_size(s->ta.desc.dtype);
    const char *a = kg_baseline_at(&s->ta, slot), *b = kg_baseline_at(&s->tb, slot);
    char *c = kg_baseline_at(&s->out, slot);
    if (s->addmm && s->beta != 0) copy_addend(s, slot);
    for (int64_t i = 0; i < s->batches; i++) {
        int64_t at_a = 0, at_b = 0, at_c = 0, rest = i;
        for (int d = s->batch_ndim - 1; d >= 0; d--) {
            const int64_t x = rest % s->batch_shape[d];
            rest /= s->batch_shape[d];
            at_a += x * s->a.batch_step[d], at_b += x * s->b.batch_step[d], at_c += x * s->out_step[d];
        }
        multiply(s, a + (size_t)at_a * size, b + (size_t)at_b * size, c + (size_t)at_c * size);
    }
    return 0;
}

// The library stays open: it keeps threads of its own, which must not outlive their code.
static void close_library(void *self) { free(self); }

const kg_baseline_lib kg_baseline_openblas = {"openblas", open_library, prepare, call, close_library};
