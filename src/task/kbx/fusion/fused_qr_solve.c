// fused_qr_solve(A, b) -> Tensor
//
// x = R^-1 (Q^T b) of A = Q R: the least squares solution for A of (m, n), m >= n, of full rank, and b of (m, k).
//
// Bound: reflections give the exact solution for A + dA and b + db whose columns err by c u times their norms (Higham,
// theorem 20.3), and the triangular solve adds running sums of at most n terms: dA_ij of deviation u sqrt(S_ij),
// S_ij = |a_j|^2 + n a_ij^2. With P = A^+, C = (A^T A)^-1 and the residual r, dx = P (db - dA x) + C dA^T r to first
// order (Higham, 20.1). Kernels that go over A^T A square the condition number, which is a few here, and pass as well.
#include <stdlib.h>
#include <string.h>

#include "oracle/product.h"
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR}, {.name = "b", .kind = KG_P_TENSOR}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, RHS };
#define SMALL 192

// ---- cases --------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor a, kg_tensor rhs, bool raised) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "A", a,
                   raised ? kg_matrix_fill(KG_FILL_RAISED, a.dtype, a.shape[1]) : KG_NORMAL(0.1, 1));
    kg_set_strided(c, b->task, "b", rhs, KG_NORMAL(0.25, 1));
    return c;
}
#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void sized(kg_cases *b, kg_dtype t, int64_t m, int64_t n, int64_t k) {
    add(b, OF(t, m, n), OF(t, m, k), m < 2 * n);
}

static void some(kg_cases *b, kg_dtype t) {
    sized(b, t, 33, 17, 3);
    sized(b, t, 17, 17, 2);
    sized(b, t, 40, 3, 5);
    add(b, kg_tensor_transposed(t, KG_SHAPE(21, 9), 0, 1), kg_tensor_transposed(t, KG_SHAPE(21, 4), 0, 1), false);
    add(b, kg_tensor_stepped(t, KG_SHAPE(14, 6), 2), OF(t, 14, 2), false);
}

static int cases(kg_cases *b) {
    static const int64_t quick[][3] = {{1, 1, 1},   {2, 1, 1},   {5, 1, 3},   {2, 2, 1},   {3, 3, 4},    {4, 2, 2},
                                       {65, 32, 1}, {64, 64, 2}, {100, 7, 7}, {31, 30, 2}, {48, 16, 10}, {9, 8, 1},
                                       {12, 6, 20}, {3, 2, 1},   {7, 3, 1},   {16, 8, 8},  {50, 25, 3},  {129, 2, 2}};
    static const int64_t full[][3] = {{129, 64, 3},  {128, 100, 1}, {400, 200, 2},
                                      {257, 257, 2}, {1000, 3, 3},  {6, 5, 2}};
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        for (int64_t n = 16; n <= (b->level == KG_TIMED_CPU ? 128 : 4096); n *= 2) sized(b, KG_F32, 2 * n, n, 10);
        return 0;
    }
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) sized(b, KG_F32, quick[i][0], quick[i][1], quick[i][2]);
    some(b, KG_F32);
    some(b, KG_F64);
    if (b->level == KG_CASES_QUICK) return 0;
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        sized(b, KG_F32, full[i][0], full[i][1], full[i][2]);
        if (full[i][1] <= SMALL) sized(b, KG_F64, full[i][0], full[i][1], full[i][2]);
    }
    return 0;
}
#undef OF

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor, *b = &c->args[RHS].tensor;
    if (a->ndim != 2 || b->ndim != 2 || a->shape[0] != b->shape[0] || a->shape[0] < a->shape[1]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, 2, (int64_t[]){a->shape[1], b->shape[1]});
    return 0;
}

// ---- every element --------------------------------------------------------------------------------------
typedef struct {
    kg_matrix a, b, s, p, x, r;  // s: squares; p: the pseudoinverse; r = b - a x
    kg_lu gram;
} least_squares;

static least_squares least_squares_of(const kg_matrices *a, const kg_matrices *b) {
    least_squares l = {.a = kg_matrix_load(a, 0), .b = kg_matrix_load(b, 0)};
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

static void hold_elements(const kg_matrices *a, const kg_matrices *b, kg_dtype t, const kg_view *out, kg_holds *h) {
    least_squares l = least_squares_of(a, b);
    kg_matrix error = kg_matrix_make(l.x.rows, l.x.cols);
    double p2 = 0, s2 = 0, *e2 = kg_alloc((size_t)l.x.rows * sizeof *e2);
    for (int64_t i = 0; i < l.a.rows * l.a.cols; i++) {
        p2 += (double)(l.p.at[i] * l.p.at[i]);
        s2 += (double)l.s.at[i];
    }
    const double size = KG_SPREAD * kg_working_unit(h->task, t) * sqrt(p2 * s2);
    for (int64_t j = 0; j < l.x.cols; j++) {
        column_error(&l, j, e2);
        for (int64_t i = 0; i < l.x.rows; i++) KG_AT(&error, i, j) = sqrt(e2[i]) / (1 - size);
    }
    if (size < 0.5) kg_hold_matrix(h, t, out, false, 0, &l.x, &error, "x");
    free(e2);
    kg_matrix_free(&error);
    least_squares_free(&l);
}

// ---- large ones: A^T (b - A x) = 0 ------------------------------------------------------------------------
// For the columns added up with random signs, by the first order error of the same model: A^T R + dA^T r. A's condition
// number is a few, so that a small gradient means a small error.
static void combine(const kg_matrices *m, uint64_t key, double *sum, double *squares) {
    for (int64_t i = 0; i < m->rows; i++) {
        sum[i] = squares[i] = 0;
        for (int64_t j = 0; j < m->cols; j++) {
            const double x = kg_at_offset(&m->v, i * m->row_step + j * m->col_step);
            sum[i] += kg_philox4x32(key, (uint64_t)j, 3).v[0] & 1 ? x : -x;
            squares[i] += x * x;
        }
    }
}

static void hold_gradient(const kg_matrices *a, const kg_matrices *b, kg_dtype t, const kg_view *out, kg_holds *h) {
    const int64_t m = a->rows, n = a->cols;
    const kg_matrices x = kg_matrices_of(out, false, 2);
    double *line = kg_alloc((size_t)(6 * n) * sizeof *line), *norm = line + n, *g = norm + n, *g2 = g + n;
    double *xs = g2 + n, *xs2 = xs + n, *bs = kg_alloc((size_t)(2 * m) * sizeof *bs), *bs2 = bs + m, b2 = 0;
    const double first = kg_at_offset(&a->v, 0);  // signs that are unknown before the values are
    uint64_t key;
    memcpy(&key, &first, sizeof key);
    combine(&x, key, xs, xs2);
    combine(b, key, bs, bs2);
    for (int64_t i = 0; i < m; i++) {
        kg_load_line(&a->v, i * a->row_step, a->col_step, n, line, 1);
        for (int64_t c = 0; c < n; c++) norm[c] += line[c] * line[c];
        b2 += bs2[i];
    }
    for (int64_t i = 0; i < m; i++) {
        double r = bs[i], row = 2 * b2;
        kg_load_line(&a->v, i * a->row_step, a->col_step, n, line, 1);
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
        kg_hold(h, t, g[c], 0, KG_SPREAD * sqrt(g2[c]), 0, "A^T (b - A x) w[%lld]", (long long)c);
    free(line);
    free(bs);
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_tensor *out = &call->c->outs[0];
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[A], false, 2), b = kg_matrices_of(&call->args[RHS], false, 2);
    (a.cols <= SMALL && a.rows <= 2 * SMALL ? hold_elements : hold_gradient)(&a, &b, out->dtype, &answer->out[0], h);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor;
    const double m = (double)a->shape[0], n = (double)a->shape[1], k = (double)c->args[RHS].tensor.shape[1];
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(a->dtype)] = 2 * n * n * (m - n / 3) + (4 * m * n - n * n) * k;  // Householder's
}

const kg_task kg_task_kbx_fused_qr_solve = {
    .name = "fused_qr_solve",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_qr_solve(A, b) -> Tensor",
    .summary = "The least squares solution x of A x = b, by QR factorisation.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline =
        "lambda A, b: (lambda q, r: torch.linalg.solve_triangular(r, q.mT @ b, upper=True))"
        "(*torch.linalg.qr(A))",
    .c_items = "1",
    .c_body =
        "// Gram and Schmidt's columns in turn (modified), those of b last; then back substitution.\n"
        "const int64_t m = kg_dim(A, 0), n = kg_dim(A, 1), k = kg_dim(b, 1), width = n + k;\n"
        "double *q = (double *)malloc((size_t)(m * width + n * width + 1) * sizeof *q), *r = q + m * width;\n"
        "for (int64_t y = 0; y < m; y++)\n"
        "    for (int64_t x = 0; x < width; x++)\n"
        "        q[y * width + x] = x < n ? kg_get(A, y * n + x) : kg_get(b, y * k + x - n);\n"
        "for (int64_t c = 0; c < n; c++) {\n"
        "    double norm = 0;\n"
        "    for (int64_t y = 0; y < m; y++) norm += q[y * width + c] * q[y * width + c];\n"
        "    norm = sqrt(norm);\n"
        "    r[c * width + c] = norm;\n"
        "    for (int64_t y = 0; y < m; y++) q[y * width + c] /= norm;\n"
        "    for (int64_t x = c + 1; x < width; x++) {\n"
        "        double dot = 0;\n"
        "        for (int64_t y = 0; y < m; y++) dot += q[y * width + c] * q[y * width + x];\n"
        "        r[c * width + x] = dot;\n"
        "        for (int64_t y = 0; y < m; y++) q[y * width + x] -= dot * q[y * width + c];\n"
        "    }\n"
        "}\n"
        "for (int64_t x = n; x < width; x++)\n"
        "    for (int64_t c = n - 1; c >= 0; c--) {\n"
        "        double sum = r[c * width + x];\n"
        "        for (int64_t d = c + 1; d < n; d++) sum -= r[c * width + d] * r[d * width + x];\n"
        "        r[c * width + x] = sum / r[c * width + c];\n"
        "        kg_put(out, c * k + x - n, r[c * width + x]);\n"
        "    }\n"
        "free(q);\n",
};
