#include "task/solves.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/product.h"

#define SMALL 192

// ---- inputs -------------------------------------------------------------------------------------------
// Normal values have a spectrum of radius sqrt(n), symmetric ones of 2 sqrt(n), and small ones lie within n times the
// largest value, 3.47.
kg_fill kg_matrix_fill(kg_fill_kind kind, kg_dtype t, int64_t n) {
    if (kind == KG_FILL_NORMAL) return KG_NORMAL(0, 1);
    const bool complex = kg_dtype_is_complex(t);
    const double order = (double)(n > 0 ? n : 1);
    const double raise = fmin(3.5 * order, 4 * sqrt(order) + 4) * (complex ? 1.5 : 1);
    return (kg_fill){kind, complex ? -order : order, raise};
}

void kg_give_out(kg_cases *b, kg_case *c) {
    if (b->task->infer(b->task, c)) return;
    const kg_tensor *o = &c->outs[0];
    kg_set_tensor(c, b->task, "out", o->dtype, o->ndim, o->shape, KG_NORMAL(0, 1));
}

// ---- shapes -------------------------------------------------------------------------------------------
static bool is_vector(const kg_tensor *a, const kg_tensor *b, bool vectors) {
    if (!vectors || b->ndim == 1) return vectors;
    if (b->ndim != a->ndim - 1) return false;
    for (int d = 0; d < b->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

static int batch_shape(const kg_tensor *a, int a_own, const kg_tensor *b, int b_own, kg_tensor *out) {
    const kg_tensor left = kg_tensor_contiguous(a->dtype, a->ndim - a_own, a->shape);
    const kg_tensor right = kg_tensor_contiguous(a->dtype, b->ndim - b_own, b->shape);
    return kg_broadcast(&left, &right, out);
}

int kg_systems_infer(kg_case *c, const kg_systems *s) {
    const kg_tensor *a = &c->args[s->a].tensor, *b = s->b < 0 ? a : &c->args[s->b].tensor;
    const bool vector = s->b >= 0 && is_vector(a, b, s->vectors);
    if (a->ndim < 2 || a->shape[a->ndim - 1] != a->shape[a->ndim - 2] || b->dtype != a->dtype) return -1;
    if (b->ndim < (vector ? 1 : 2) || (s->right && is_vector(a, b, true))) return -1;
    kg_tensor out;
    if (batch_shape(a, 2, b, vector ? 1 : 2, &out)) return -1;
    if (b->shape[b->ndim - (s->right || vector ? 1 : 2)] != a->shape[a->ndim - 1]) return -1;
    for (int d = b->ndim - (vector ? 1 : 2); d < b->ndim; d++) out.shape[out.ndim++] = b->shape[d];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, out.ndim, out.shape);
    return 0;
}

void kg_systems_work(const kg_task *t, const kg_case *c, kg_work *w, const kg_systems *s, double cubic) {
    const kg_tensor *a = &c->args[s->a].tensor;
    const double n = (double)a->shape[a->ndim - 1], columns = (double)kg_numel(&c->outs[0]) / fmax(n, 1);
    const double matrices = (double)kg_numel(a) / fmax(n * n, 1);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * (cubic * n * n * n * matrices + 2 * n * n * columns);
}

// ---- every element --------------------------------------------------------------------------------------
static kg_matrix system_of(const kg_matrices *a, int64_t number, const kg_systems *s) {
    kg_matrix m = s->right ? kg_matrix_load_transposed(a, number) : kg_matrix_load(a, number);
    if (s->kind == KG_SYSTEM_WHOLE) return m;
    const bool lower = s->kind == KG_SYSTEM_LOWER_FACTOR;
    kg_matrix_keep_triangle(&m, lower, a->complex ? 2 : 1);
    if (s->kind == KG_SYSTEM_UPPER) return m;
    kg_matrix adjoint = kg_matrix_adjoint(&m);
    kg_matrix p = lower ? kg_matrix_product(&m, &adjoint) : kg_matrix_product(&adjoint, &m);
    kg_matrix_free(&adjoint);
    kg_matrix_free(&m);
    return p;
}

static kg_matrix right_side(const kg_matrices *b, int64_t number, bool transposed, int64_t order) {
    if (b) return transposed ? kg_matrix_load_transposed(b, number) : kg_matrix_load(b, number);
    kg_matrix m = kg_matrix_make(order, order);
    for (int64_t i = 0; i < order; i++) KG_AT(&m, i, i) = 1;
    return m;
}

// Back from X^T: complex elements are swapped, not their blocks.
static void transpose_elements(kg_matrix *m, int64_t size) {
    kg_matrix r = kg_matrix_make(m->cols, m->rows);
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++)
            KG_AT(&r, j / size * size + i % size, i / size * size + j % size) = KG_AT(m, i, j);
    kg_matrix_free(m);
    *m = r;
}

// NaN in a matrix without zeros reaches every element of its inverse, whatever the method.
static bool hold_nan(const kg_systems *s, const kg_matrix *m, const kg_matrix *rhs, bool complex, int64_t number,
                     kg_dtype t, const kg_answer *answer, kg_holds *h) {
    if (s->kind != KG_SYSTEM_WHOLE || !kg_matrix_has_nan(m)) return false;
    kg_matrix x = s->right ? kg_matrix_make(rhs->cols, rhs->rows) : kg_matrix_make(rhs->rows, rhs->cols);
    for (int64_t i = 0; i < x.rows * x.cols; i++) x.at[i] = NAN;
    for (int o = 0; o < answer->n; o++) kg_hold_matrix(h, t, &answer->out[o], complex, number, &x, &x, "x");
    kg_matrix_free(&x);
    return true;
}

static void hold_elements(const kg_systems *s, const kg_matrices *a, const kg_matrices *b, int64_t number, kg_dtype t,
                          const kg_answer *answer, kg_holds *h) {
    kg_matrix m = system_of(a, number, s), rhs = right_side(b, number, s->right, m.rows);
    if (hold_nan(s, &m, &rhs, a->complex, number, t, answer, h)) {
        kg_matrix_free(&m);
        kg_matrix_free(&rhs);
        return;
    }
    kg_lu f = kg_lu_of(&m, s->pivot);
    double scale, *e = kg_alloc((size_t)(m.rows + 1) * sizeof *e);
    if (kg_lu_certain(&f, kg_working_unit(h->task, t), &scale)) {
        kg_matrix x = kg_lu_solve(&f, &rhs), error = kg_matrix_make(rhs.rows, rhs.cols);
        for (int64_t j = 0; j < rhs.cols; j++) {
            kg_lu_error(&f, &x, &rhs, j, e);
            for (int64_t i = 0; i < rhs.rows; i++) KG_AT(&error, i, j) = scale * e[i];
        }
        if (s->right) transpose_elements(&x, a->complex ? 2 : 1);
        if (s->right) transpose_elements(&error, a->complex ? 2 : 1);
        for (int o = 0; o < answer->n; o++) kg_hold_matrix(h, t, &answer->out[o], a->complex, number, &x, &error, "x");
        kg_matrix_free(&x);
        kg_matrix_free(&error);
    }
    free(e);
    kg_lu_free(&f);
    kg_matrix_free(&m);
    kg_matrix_free(&rhs);
}

// ---- residuals ------------------------------------------------------------------------------------------
// One real system, its columns combined by random signs: x = X w, b = B w, and x2, b2 the sums of their squares.
typedef struct {
    const kg_view *v;
    int64_t n, start, row_step, col_step;
    double *x, *x2, *b, *b2;  // n each
    double *ax, *r2;          // A x, and the deviation's square of its residual
    double *line, *norm, *t, *t2;
} residual;

static residual residual_make(const kg_matrices *a, int64_t number) {
    residual r = {.v = &a->v,
                  .n = a->rows,
                  .start = kg_matrices_start(a, number),
                  .row_step = a->row_step,
                  .col_step = a->col_step};
    double **const all[] = {&r.x, &r.x2, &r.b, &r.b2, &r.ax, &r.r2, &r.line, &r.norm, &r.t, &r.t2};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) *all[k] = kg_alloc((size_t)r.n * sizeof(double));
    return r;
}
static void residual_free(residual *r) {
    double *const all[] = {r->x, r->x2, r->b, r->b2, r->ax, r->r2, r->line, r->norm, r->t, r->t2};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

// Signs that the kernel cannot know before it has the values.
static double sign_of(uint64_t key, int64_t j) { return kg_philox4x32(key, (uint64_t)j, 1).v[0] & 1 ? 1 : -1; }
static uint64_t key_of(const kg_view *v, int64_t n) {
    uint64_t key = 0;
    for (int64_t i = 0; i < n && i < 16; i++) {
        const double x = kg_at(v, i);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        key = key * 0x9E3779B97F4A7C15u + (bits >> 29);
    }
    return key;
}

static void combine(const kg_matrices *m, int64_t number, uint64_t key, double *sum, double *squares) {
    const int64_t start = kg_matrices_start(m, number);
    memset(sum, 0, (size_t)m->rows * sizeof *sum);
    memset(squares, 0, (size_t)m->rows * sizeof *squares);
    for (int64_t j = 0; j < m->cols; j++) {
        const double w = sign_of(key, j);
        for (int64_t i = 0; i < m->rows; i++) {
            const double x = kg_at_offset(&m->v, start + i * m->row_step + j * m->col_step);
            sum[i] += w * x;
            squares[i] += x * x;
        }
    }
}

static const double *row_of(const residual *r, int64_t i, kg_system_kind kind) {
    kg_load_line(r->v, r->start + i * r->row_step, r->col_step, r->n, r->line, 1);
    const int64_t from = kind == KG_SYSTEM_LOWER_FACTOR ? i + 1 : 0, to = kind == KG_SYSTEM_LOWER_FACTOR ? r->n : i;
    for (int64_t j = from; kind != KG_SYSTEM_WHOLE && j < to; j++) r->line[j] = 0;
    return r->line;
}

// A x; dA has the deviation of running sums of at most n terms about as large as a_ij, of the columns' norms, and twice
// the first for the two triangular solves.
static void apply_matrix(residual *r, kg_system_kind kind) {
    const double n = (double)r->n;
    for (int64_t i = 0; i < r->n; i++) {
        const double *a = row_of(r, i, kind);
        for (int64_t j = 0; j < r->n; j++) r->norm[j] += a[j] * a[j];
    }
    for (int64_t i = 0; i < r->n; i++) {
        const double *a = row_of(r, i, kind);
        double s = 0, q = n * r->b2[i];
        for (int64_t j = 0; j < r->n; j++) {
            s += a[j] * r->x[j];
            q += (3 * n * a[j] * a[j] + r->norm[j]) * r->x2[j];
        }
        r->ax[i] = s;
        r->r2[i] = q;
    }
}

// F F^T x for a lower factor, F^T F x for an upper one: t = the first product, t2 what its sums' squares add.
static void apply_factor(residual *r, kg_system_kind kind) {
    const bool lower = kind == KG_SYSTEM_LOWER_FACTOR;
    const double n = (double)r->n;
    for (int64_t i = 0; i < r->n; i++) {
        const double *a = row_of(r, i, kind);
        for (int64_t j = 0; j < r->n; j++) {
            const int64_t to = lower ? j : i, from = lower ? i : j;
            r->t[to] += a[j] * r->x[from];
            r->t2[to] += a[j] * a[j] * r->x2[from];
        }
    }
    for (int64_t i = 0; i < r->n; i++) r->t2[i] += r->t[i] * r->t[i];
    for (int64_t i = 0; i < r->n; i++) r->r2[i] = n * r->b2[i];
    for (int64_t i = 0; i < r->n; i++) {
        const double *a = row_of(r, i, kind);
        for (int64_t j = 0; j < r->n; j++) {
            const int64_t to = lower ? i : j, from = lower ? j : i;
            r->ax[to] += a[j] * r->t[from];
            r->r2[to] += 3 * n * a[j] * a[j] * r->t2[from];
        }
    }
}

static void hold_residual(const kg_systems *s, const kg_matrices *a, const kg_matrices *b, const kg_matrices *x,
                          int64_t number, kg_dtype t, kg_holds *h) {
    residual r = residual_make(a, number);
    const uint64_t key = key_of(&a->v, r.n);
    combine(x, number, key, r.x, r.x2);
    if (b) combine(b, number, key, r.b, r.b2);
    for (int64_t i = 0; !b && i < r.n; i++) {
        r.b[i] = sign_of(key, i);
        r.b2[i] = 1;
    }
    if (s->kind == KG_SYSTEM_WHOLE || s->kind == KG_SYSTEM_UPPER) apply_matrix(&r, s->kind);
    else apply_factor(&r, s->kind);
    for (int64_t i = 0; i < r.n; i++)
        kg_hold(h, t, r.ax[i], r.b[i], KG_SPREAD * sqrt(r.r2[i]), 0, "A X w = B w in row %lld of matrix %lld",
                (long long)i, (long long)number);
    residual_free(&r);
}

void kg_hold_gram(kg_holds *h, kg_dtype t, const kg_matrices *a, const kg_matrices *factor, int64_t number,
                  kg_system_kind kind) {
    residual r = residual_make(factor, number);
    const uint64_t key = key_of(&a->v, r.n);
    const int64_t start = kg_matrices_start(a, number);
    for (int64_t j = 0; j < r.n; j++) {
        r.x[j] = sign_of(key, j);
        r.x2[j] = 1;
    }
    for (int64_t i = 0; i < r.n; i++) {
        kg_load_line(&a->v, start + i * a->row_step, a->col_step, r.n, r.line, 1);
        for (int64_t j = 0; j < r.n; j++) r.b[i] += r.line[j] * r.x[j];
    }
    apply_factor(&r, kind);
    for (int64_t i = 0; i < r.n; i++)
        kg_hold(h, t, r.ax[i], r.b[i], KG_SPREAD * sqrt(r.r2[i]), 0, "L L^H z = A z in row %lld of matrix %lld",
                (long long)i, (long long)number);
    residual_free(&r);
}

int kg_systems_hold(const kg_call *call, const kg_answer *answer, kg_holds *h, const kg_systems *s) {
    const kg_tensor *a_shape = &call->c->args[s->a].tensor, *out = &call->c->outs[0];
    const bool complex = kg_dtype_is_complex(a_shape->dtype);
    const bool vector = s->b >= 0 && is_vector(a_shape, &call->c->args[s->b].tensor, s->vectors);
    const int own = vector ? 1 : 2;
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_like(&call->args[s->a], complex, 2, out, own);
    kg_matrices b = {0};
    if (s->b >= 0) b = kg_matrices_like(&call->args[s->b], complex, own, out, own);
    for (int64_t k = 0; k < a.count; k++) {
        if (a.rows <= SMALL || complex || s->right) {
            hold_elements(s, &a, s->b < 0 ? NULL : &b, k, out->dtype, answer, h);
            continue;
        }
        for (int o = 0; o < answer->n; o++) {
            const kg_matrices x = kg_matrices_of(&answer->out[o], false, own);
            hold_residual(s, &a, s->b < 0 ? NULL : &b, &x, k, out->dtype, h);
        }
    }
    return 0;
}

// ---- cases ----------------------------------------------------------------------------------------------
kg_case *kg_system_add(kg_cases *b, const kg_system_family *f, kg_fill_kind kind, kg_dtype t, int n_batch,
                       const int64_t *batch, int64_t n, int64_t k) {
    int64_t shape[KG_MAX_NDIM];
    kg_case *c = kg_case_add(b);
    for (int d = 0; d < n_batch; d++) shape[d] = batch[d];
    shape[n_batch] = shape[n_batch + 1] = n;
    kg_set_tensor(c, b->task, f->a, t, n_batch + 2, shape, kg_matrix_fill(kind, t, n));
    shape[n_batch + 1] = k;
    if (f->b) kg_set_tensor(c, b->task, f->b, t, n_batch + (k ? 2 : 1), shape, KG_NORMAL(0.25, 1));
    return c;
}

#define ONE(kind, t, n, k)       kg_system_add(b, f, kind, t, 0, NULL, n, k)
#define MANY(kind, t, n, k, ...) kg_system_add(b, f, kind, t, KG_SHAPE(__VA_ARGS__), n, k)
static kg_fill_kind kind_of(const kg_system_family *f, kg_dtype t, int k) {
    return (kg_dtype_is_complex(t) ? f->complex : f->kinds)[k % f->n_kinds];
}

static void transposed(kg_cases *b, const kg_system_family *f, kg_dtype t, int kind) {
    kg_case *c = ONE(kind_of(f, t, kind), t, 19, f->vectors && !f->batches ? 0 : 4);
    kg_arg *x = &c->args[kg_param_index(b->task, f->a)];
    x->tensor = kg_tensor_transposed(t, KG_SHAPE(19, 19), 0, 1);
    if (x->fill.kind == KG_FILL_LOWER || x->fill.kind == KG_FILL_UPPER)
        x->fill.kind = x->fill.kind == KG_FILL_LOWER ? KG_FILL_UPPER : KG_FILL_LOWER;
    if (!f->b) return;
    x = &c->args[kg_param_index(b->task, f->b)];
    x->tensor =
        x->tensor.ndim == 1 ? kg_tensor_stepped(t, KG_SHAPE(19), 3) : kg_tensor_transposed(t, KG_SHAPE(19, 4), 0, 1);
}

// Matrices that are blocks of wider ones, as BLAS's leading dimension has it: their rows lie further apart than they
// are long. Of a symmetric one a transposed view would not show.
static void blocks(kg_cases *b, const kg_system_family *f, kg_dtype t) {
    const int64_t n = 11, wide = 19;
    const kg_fill_kind kind = kind_of(f, t, 0);
    kg_case *c = f->batches ? MANY(kind, t, n, 3, 2) : ONE(kind, t, n, f->vectors ? 0 : 3);
    kg_arg *x = &c->args[kg_param_index(b->task, f->a)];
    x->fill = kg_matrix_fill(x->fill.kind, t, wide);
    x->tensor.stride[x->tensor.ndim - 2] = wide;
    if (f->batches) x->tensor.stride[0] = wide * wide;
}

static void some(kg_cases *b, const kg_system_family *f, kg_dtype t, const int64_t *orders) {
    const int64_t columns[] = {1, 3, 5};
    const bool vectors_only = f->vectors && !f->batches;
    for (int k = 0; orders[k]; k++)
        ONE(kind_of(f, t, k), t, orders[k], vectors_only || (f->vectors && k % 4 == 3) ? 0 : columns[k % 3]);
    transposed(b, f, t, 0);
    transposed(b, f, t, 1);
    blocks(b, f, t);
    if (f->batches) MANY(kind_of(f, t, 1), t, 6, 2, 3);
}

void kg_system_cases(kg_cases *b, const kg_system_family *f) {
    const int64_t k = f->vectors && !f->batches ? 0 : 2;
    some(b, f, KG_F32, (int64_t[]){17, 1, 2, 3, 5, 33, 64, 16, 48, 0});
    some(b, f, KG_F64, (int64_t[]){17, 3, 32, 0});
    if (f->complex) some(b, f, KG_C64, (int64_t[]){17, 1, 2, 9, 0});
    if (f->complex) some(b, f, KG_C128, (int64_t[]){7, 0});
    ONE(f->kinds[0], KG_F32, 0, k);
    if (k) ONE(f->kinds[0], KG_F32, 6, 13);
    if (k) ONE(f->kinds[0], KG_F32, 5, 67);  // more columns than a warp, and a block of two, has threads
    // Each element of the solution is a sum over the whole right side.
    for (int i = 0; f->b && i < 2; i++) {
        const int rhs = kg_param_index(b->task, f->b);
        ONE(f->kinds[0], i ? KG_F64 : KG_F32, 5, k)->args[rhs].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    }
    if (f->b) ONE(f->kinds[0], KG_F64, 7, k)->args[kg_param_index(b->task, f->b)].fill = KG_WIDE_INTEGERS;
    if (f->batches) {
        MANY(f->kinds[0], KG_F32, 9, 3, 2, 3);
        MANY(f->kinds[0], KG_F32, 2, 2, 11);
        MANY(f->kinds[0], KG_F32, 4, 3, 0);
        MANY(f->kinds[0], KG_F32, 1, 1, 5);
    }
    if (b->level != KG_CASES_FULL) return;
    some(b, f, KG_F32, (int64_t[]){4, 7, 31, 32, 65, 100, 129, 0});
    some(b, f, KG_F64, (int64_t[]){1, 2, 31, 64, 65, 0});
    if (f->complex) some(b, f, KG_C64, (int64_t[]){3, 16, 31, 33, 0});
    if (f->complex) some(b, f, KG_C128, (int64_t[]){2, 17, 32, 0});
    ONE(f->kinds[0], KG_F32, 257, k);
    if (f->batches) MANY(f->kinds[0], KG_F32, 8, 2, 17);
    if (f->batches && f->complex) MANY(f->complex[0], KG_C64, 5, 2, 2, 2);
}
#undef ONE
#undef MANY

void kg_system_timed(kg_cases *b, const kg_system_family *f, const int64_t *orders, int64_t cpu_most, int64_t k) {
    for (int i = 0; orders[i]; i++)
        if (b->level == KG_TIMED_CUDA || orders[i] <= cpu_most)
            kg_system_add(b, f, f->kinds[0], KG_F32, 0, NULL, orders[i], k);
}
