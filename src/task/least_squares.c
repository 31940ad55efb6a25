#include "task/least_squares.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/product.h"
#include "task/families.h"
#include "task/solves.h"

enum { A, RHS };
#define SMALL 192

// ---- cases --------------------------------------------------------------------------------------------
kg_case *kg_least_squares_add(kg_cases *b, kg_tensor a, kg_tensor rhs) {
    const int64_t m = a.shape[a.ndim - 2], n = a.shape[a.ndim - 1];
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a, m < 2 * n ? kg_matrix_fill(KG_FILL_RAISED, a.dtype, n) : KG_NORMAL(0.1, 1));
    kg_set_strided(c, b->task, "b", rhs, KG_NORMAL(0.25, 1));
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void sized(kg_cases *b, kg_dtype t, int64_t m, int64_t n, int64_t k) {
    kg_least_squares_add(b, OF(t, m, n), OF(t, m, k));
}

void kg_least_squares_some(kg_cases *b, kg_dtype t) {
    sized(b, t, 33, 17, 3);
    sized(b, t, 17, 17, 2);
    sized(b, t, 40, 3, 5);
    kg_least_squares_add(b, kg_tensor_transposed(t, KG_SHAPE(21, 9), 0, 1),
                         kg_tensor_transposed(t, KG_SHAPE(21, 4), 0, 1));
    kg_least_squares_add(b, kg_tensor_stepped(t, KG_SHAPE(14, 6), 2), OF(t, 14, 2));
}

void kg_least_squares_cases(kg_cases *b) {
    static const int64_t quick[][3] = {{1, 1, 1},   {2, 1, 1},   {5, 1, 3},   {2, 2, 1},   {3, 3, 4},    {4, 2, 2},
                                       {65, 32, 1}, {64, 64, 2}, {100, 7, 7}, {31, 30, 2}, {48, 16, 10}, {9, 8, 1},
                                       {12, 6, 20}, {3, 2, 1},   {7, 3, 1},   {16, 8, 8},  {50, 25, 3},  {129, 2, 2}};
    static const int64_t full[][3] = {{129, 64, 3},  {128, 100, 1}, {400, 200, 2},
                                      {257, 257, 2}, {1000, 3, 3},  {6, 5, 2}};
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        for (int64_t n = 16; n <= (b->level == KG_TIMED_CPU ? 128 : 4096); n *= 2) sized(b, KG_F32, 2 * n, n, 10);
        return;
    }
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) sized(b, KG_F32, quick[i][0], quick[i][1], quick[i][2]);
    kg_least_squares_some(b, KG_F32);
    kg_least_squares_some(b, KG_F64);
    kg_least_squares_add(b, OF(KG_F32, 9, 3), OF(KG_F32, 9, 2))->args[RHS].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    if (b->level == KG_CASES_QUICK) return;
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        sized(b, KG_F32, full[i][0], full[i][1], full[i][2]);
        if (full[i][1] <= SMALL) sized(b, KG_F64, full[i][0], full[i][1], full[i][2]);
    }
}
#undef OF

// ---- shapes and work ------------------------------------------------------------------------------------
static int own_dims(const kg_case *c) { return c->args[RHS].tensor.ndim == c->args[A].tensor.ndim - 1 ? 1 : 2; }

int kg_least_squares_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[RHS].tensor;
    const int batch = a->ndim - 2, own = own_dims(c);
    if (batch < 0 || b->ndim != batch + own || a->dtype != b->dtype) return -1;
    if (a->shape[batch] < a->shape[batch + 1] || b->shape[batch] != a->shape[batch]) return -1;
    for (int d = 0; d < batch; d++)
        if (a->shape[d] != b->shape[d]) return -1;
    kg_tensor x = *b;
    x.shape[batch] = a->shape[batch + 1];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, x.ndim, x.shape);
    return 0;
}

// Householder's reflections.
void kg_least_squares_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[RHS].tensor;
    const double m = (double)a->shape[a->ndim - 2], n = (double)a->shape[a->ndim - 1];
    const double matrices = (double)kg_numel(a) / fmax(m * n, 1), columns = (double)kg_numel(b) / fmax(m, 1);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * (2 * n * n * (m - n / 3) * matrices + (4 * m * n - n * n) * columns);
}

// ---- every element --------------------------------------------------------------------------------------
typedef struct {
    kg_matrix a, b, s, p, x, r;  // s: squares; p: the pseudoinverse; r = b - a x
    kg_lu gram;
} least_squares;

static least_squares least_squares_of(const kg_matrices *a, const kg_matrices *b, int64_t number) {
    least_squares l = {.a = kg_matrix_load(a, number), .b = kg_matrix_load(b, number)};
    kg_matrix t = kg_matrix_adjoint(&l.a), g = kg_matrix_product(&t, &l.a);
    l.gram = kg_lu_of(&g, false);
    l.p = kg_matrix_product(&l.gram.inverse, &t);
    l.x = kg_matrix_product(&l.p, &l.b);
    for (int round = 0; round < 2; round++) {  // the second refines: the first errs by the condition number squared
        kg_matrix ax = kg_matrix_product(&l.a, &l.x);
        for (int64_t i = 0; i < ax.rows * ax.cols; i++) ax.at[i] = l.b.at[i] - ax.at[i];
        kg_matrix dx = kg_matrix_product(&l.p, &ax);
        for (int64_t i = 0; round == 0 && i < dx.rows * dx.cols; i++) l.x.at[i] += dx.at[i];
        kg_matrix_free(&dx);
        if (round) l.r = ax;
        else kg_matrix_free(&ax);
    }
    l.s = kg_matrix_make(l.a.rows, l.a.cols);
    for (int64_t j = 0; j < l.a.cols; j++)
        for (int64_t i = 0; i < l.a.rows; i++)
            KG_AT(&l.s, i, j) = KG_AT(&g, j, j) + (long double)l.a.cols * KG_AT(&l.a, i, j) * KG_AT(&l.a, i, j);
    kg_matrix_free(&t);
    kg_matrix_free(&g);
    return l;
}

static void least_squares_free(least_squares *l) {
    kg_matrix *const all[] = {&l->a, &l->b, &l->s, &l->p, &l->x, &l->r};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kg_matrix_free(all[i]);
    kg_lu_free(&l->gram);
}

// Squares of the error of column j.
static void column_error(const least_squares *l, int64_t j, double *e2) {
    const int64_t m = l->a.rows, n = l->a.cols;
    double b2 = 0;
    for (int64_t i = 0; i < m; i++) b2 += (double)(KG_AT(&l->b, i, j) * KG_AT(&l->b, i, j));
    for (int64_t c = 0; c < n; c++) e2[c] = 0;
    for (int64_t i = 0; i < m; i++) {
        double row = 2 * b2;
        for (int64_t c = 0; c < n; c++)
            row += 2 * (double)(KG_AT(&l->s, i, c) * KG_AT(&l->x, c, j) * KG_AT(&l->x, c, j));
        for (int64_t c = 0; c < n; c++) e2[c] += (double)(KG_AT(&l->p, c, i) * KG_AT(&l->p, c, i)) * row;
    }
    for (int64_t q = 0; q < n; q++) {
        double turned = 0;
        for (int64_t i = 0; i < m; i++)
            turned += (double)(KG_AT(&l->s, i, q) * KG_AT(&l->r, i, j) * KG_AT(&l->r, i, j));
        for (int64_t c = 0; c < n; c++) {
            const double w = (double)KG_AT(&l->gram.inverse, c, q);
            e2[c] += w * w * turned;
        }
    }
}

// What singular values that LAPACK iterates for add to a solution made from them, over its norm (least_squares.h).
static double iterated(const kg_matrix *x, int64_t j, double u) {
    double squares = 0;
    for (int64_t i = 0; i < x->rows; i++) squares += (double)(KG_AT(x, i, j) * KG_AT(x, i, j));
    return 2 * fmax(10, fmin(100, pow(u, -0.125))) * sqrt(squares);
}

static void hold_elements(const kg_matrices *a, const kg_matrices *b, int64_t number, kg_dtype t, const kg_view *out,
                          kg_holds *h) {
    least_squares l = least_squares_of(a, b, number);
    kg_matrix error = kg_matrix_make(l.x.rows, l.x.cols);
    double p2 = 0, s2 = 0, *e2 = kg_alloc((size_t)l.x.rows * sizeof *e2);
    for (int64_t i = 0; i < l.a.rows * l.a.cols; i++) {
        p2 += (double)(l.p.at[i] * l.p.at[i]);
        s2 += (double)l.s.at[i];
    }
    const double u = kg_working_unit(h->task, t), size = KG_SPREAD * u * sqrt(p2 * s2);
    for (int64_t j = 0; j < l.x.cols; j++) {
        column_error(&l, j, e2);
        const double more = iterated(&l.x, j, u) / KG_SPREAD;
        for (int64_t i = 0; i < l.x.rows; i++) KG_AT(&error, i, j) = sqrt(e2[i]) / (1 - size) + more;
    }
    if (size < 0.5) kg_hold_matrix(h, t, out, a->complex, number, &l.x, &error, "x");
    free(e2);
    kg_matrix_free(&error);
    least_squares_free(&l);
}

// ---- large ones: A^T (b - A x) = 0 ------------------------------------------------------------------------
// For the columns added up with random signs, by the first order error of the same model: A^T R + dA^T r. A's condition
// number is a few, so that a small gradient means a small error.
static void combine(const kg_matrices *m, int64_t number, uint64_t key, double *sum, double *squares) {
    const int64_t start = kg_matrices_start(m, number);
    for (int64_t i = 0; i < m->rows; i++) {
        sum[i] = squares[i] = 0;
        for (int64_t j = 0; j < m->cols; j++) {
            const double x = kg_at_offset(&m->v, start + i * m->row_step + j * m->col_step);
            sum[i] += kg_philox4x32(key, (uint64_t)j, 3).v[0] & 1 ? x : -x;
            squares[i] += x * x;
        }
    }
}

static void hold_gradient(const kg_matrices *a, const kg_matrices *b, const kg_matrices *x, int64_t number, kg_dtype t,
                          kg_holds *h) {
    const int64_t m = a->rows, n = a->cols, start = kg_matrices_start(a, number);
    double *line = kg_alloc((size_t)(6 * n) * sizeof *line), *norm = line + n, *g = norm + n, *g2 = g + n;
    double *xs = g2 + n, *xs2 = xs + n, *bs = kg_alloc((size_t)(2 * m) * sizeof *bs), *bs2 = bs + m, b2 = 0;
    const double first = kg_at_offset(&a->v, start);  // signs that are unknown before the values are
    uint64_t key;
    memcpy(&key, &first, sizeof key);
    combine(x, number, key, xs, xs2);
    combine(b, number, key, bs, bs2);
    for (int64_t i = 0; i < m; i++) {
        kg_load_line(&a->v, start + i * a->row_step, a->col_step, n, line, 1);
        for (int64_t c = 0; c < n; c++) norm[c] += line[c] * line[c];
        b2 += bs2[i];
    }
    for (int64_t i = 0; i < m; i++) {
        double r = bs[i], row = 2 * b2;
        kg_load_line(&a->v, start + i * a->row_step, a->col_step, n, line, 1);
        for (int64_t c = 0; c < n; c++) {
            r -= line[c] * xs[c];
            row += 2 * (norm[c] + (double)n * line[c] * line[c]) * xs2[c];
        }
        for (int64_t c = 0; c < n; c++) {
            g[c] += line[c] * r;
            g2[c] += line[c] * line[c] * row + (norm[c] + (double)n * line[c] * line[c]) * r * r;
        }
    }
    for (int64_t c = 0; c < n; c++)
        kg_hold(h, t, g[c], 0, KG_SPREAD * sqrt(g2[c]), 0, "A^T (b - A x) w[%lld] of matrix %lld", (long long)c,
                (long long)number);
    free(line);
    free(bs);
}

int kg_least_squares_holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    const bool complex = kg_dtype_is_complex(out->dtype);
    const int own = own_dims(call->c);
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[A], complex, 2),
                      b = kg_matrices_of(&call->args[RHS], complex, own);
    for (int o = 0; o < answer->n; o++) {
        const kg_matrices x = kg_matrices_of(&answer->out[o], complex, own);
        for (int64_t k = 0; k < a.count; k++)
            if (complex || (a.cols <= SMALL && a.rows <= 2 * SMALL))
                hold_elements(&a, &b, k, out->dtype, &answer->out[o], h);
            else hold_gradient(&a, &b, &x, k, out->dtype, h);
    }
    return 0;
}

const char *const kg_outputs_least_squares[] = {"out", NULL};

const char kg_least_squares_items[] = "kg_elements(A) / (kg_dim(A, -2) * kg_dim(A, -1) + (kg_elements(A) == 0))";
const char kg_least_squares_body[] =
    "// Gram and Schmidt's columns in turn (modified), those of b last; then back substitution. Complex numbers.\n"
    "const bool vector = b->ndim == A->ndim - 1;\n"
    "const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = vector ? 1 : kg_dim(b, -1), width = n + k;\n"
    "const int64_t b_row = kg_stride(b, vector ? -1 : -2), b_column = vector ? 0 : kg_stride(b, -1);\n"
    "const int64_t x_row = kg_stride(out, vector ? -1 : -2), x_column = vector ? 0 : kg_stride(out, -1);\n"
    "int64_t rest = i, at_a = 0, at_b = 0, at_x = 0;\n"
    "for (int d = A->ndim - 3; d >= 0; d--) {\n"
    "    const int64_t at = rest % A->shape[d];\n"
    "    rest /= A->shape[d];\n"
    "    at_a += at * kg_stride(A, d), at_b += at * kg_stride(b, d), at_x += at * kg_stride(out, d);\n"
    "}\n"
    "double *q = (double *)malloc((size_t)(2 * (m + n) * width + 1) * sizeof *q), *r = q + 2 * m * width;\n"
    "for (int64_t y = 0; y < m; y++)\n"
    "    for (int64_t x = 0; x < width; x++) {\n"
    "        double *z = q + 2 * (y * width + x);\n"
    "        if (x < n) kg_get_complex_at(A, at_a + y * kg_stride(A, -2) + x * kg_stride(A, -1), z, z + 1);\n"
    "        else kg_get_complex_at(b, at_b + y * b_row + (x - n) * b_column, z, z + 1);\n"
    "    }\n"
    "for (int64_t c = 0; c < n; c++) {\n"
    "    double norm = 0;\n"
    "    for (int64_t y = 0; y < m; y++)\n"
    "        for (int p = 0; p < 2; p++) norm += q[2 * (y * width + c) + p] * q[2 * (y * width + c) + p];\n"
    "    norm = sqrt(norm);\n"
    "    r[2 * (c * width + c)] = norm;\n"
    "    for (int64_t y = 0; y < m; y++)\n"
    "        for (int p = 0; p < 2; p++) q[2 * (y * width + c) + p] /= norm;\n"
    "    for (int64_t x = c + 1; x < width; x++) {\n"
    "        double re = 0, im = 0;\n"
    "        for (int64_t y = 0; y < m; y++) {\n"
    "            const double *u = q + 2 * (y * width + c), *v = q + 2 * (y * width + x);\n"
    "            re += u[0] * v[0] + u[1] * v[1];\n"
    "            im += u[0] * v[1] - u[1] * v[0];\n"
    "        }\n"
    "        r[2 * (c * width + x)] = re, r[2 * (c * width + x) + 1] = im;\n"
    "        for (int64_t y = 0; y < m; y++) {\n"
    "            double *u = q + 2 * (y * width + c), *v = q + 2 * (y * width + x);\n"
    "            v[0] -= re * u[0] - im * u[1];\n"
    "            v[1] -= re * u[1] + im * u[0];\n"
    "        }\n"
    "    }\n"
    "}\n"
    "for (int64_t x = n; x < width; x++)\n"
    "    for (int64_t c = n - 1; c >= 0; c--) {\n"
    "        double *z = r + 2 * (c * width + x);\n"
    "        for (int64_t d = c + 1; d < n; d++) {\n"
    "            const double *u = r + 2 * (c * width + d), *v = r + 2 * (d * width + x);\n"
    "            z[0] -= u[0] * v[0] - u[1] * v[1];\n"
    "            z[1] -= u[0] * v[1] + u[1] * v[0];\n"
    "        }\n"
    "        z[0] /= r[2 * (c * width + c)], z[1] /= r[2 * (c * width + c)];\n"
    "        const int64_t at = at_x + c * x_row + (x - n) * x_column;\n"
    "        if (out->dtype.code == kDLComplex) kg_put_complex_at(out, at, z[0], z[1]);\n"
    "        else kg_put_at(out, at, z[0]);\n"
    "    }\n"
    "free(q);\n";
