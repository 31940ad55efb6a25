// eig(A, *, out=None) -> (Tensor, Tensor)
//
// Eigenvalues w (n) and eigenvectors V (n x n, its columns, of length 1) of diagonalizable n x n matrices: A V = V
// diag(w), V invertible. Both are complex, for real A too. The order and the vectors' phases are free. Left out: out=,
// two tensors.
//
// Bounds: orthogonal similarities give the exact w of A + E, ||E||_2 <= growth u ||A||_2 (Golub and Van Loan, Matrix
// Computations, 7.5.6): a pair's residual ||A v - w v|| is at most that, whatever the eigenvalues' condition. growth is
// twice that of orthogonal transformations (decompositions.c) and 20 n: about 2.5 n steps of n rotations or reflections
// from both sides, 5 n^2 roundings at random, 8 sqrt(5) n. That w holds every eigenvalue once is seen by sums that do
// not depend on condition either: |sum w - tr A| <= sqrt(n) ||E||_F and |sum w^2 - tr A^2| <= 2 ||A||_F ||E||_F, with
// ||E||_F <= growth u ||A||_F. And V is invertible: ||V^-1||_F below 1 / (u sqrt(n)). In random real matrices it is
// larger with probability n^2 u^2 or so (Fyodorov, Commun. Math. Phys. 363, 2018).
#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_linalg.h>
#include <stdlib.h>

#include "task/decomposed.h"

#define INVERTED 64  // n up to which V is inverted

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR}, {.name = NULL}};
enum { A };
static const char *const outputs[] = {"eigenvalues", "eigenvectors", NULL};

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    int64_t m, n;
    const kg_tensor *a = &c->args[A].tensor;
    if (kg_decomposed_size(c, &m, &n) || m != n) return -1;
    const kg_dtype to = kg_dtype_part(a->dtype) == KG_F64 ? KG_C128 : KG_C64;
    c->n_outs = 2;
    c->outs[0] = kg_tensor_contiguous(to, a->ndim - 1, a->shape);
    c->outs[1] = kg_decomposed_shape(a, to, n, n);
    return 0;
}

// ---- cases ------------------------------------------------------------------------------------------
static void plain(kg_cases *b, kg_tensor a) { kg_decomposed_case(b, a, KG_NORMAL(0, 1)); }

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static int cases(kg_cases *b) {
    static const int64_t cpu[] = {16, 32, 64}, cuda[] = {64, 128, 256, 512, 1024};
    static const kg_dtype dtypes[] = {KG_F32, KG_C64, KG_F64, KG_C128};
    if (b->level == KG_TIMED_CPU) kg_decomposed_timed(b, 3, cpu);
    else if (b->level == KG_TIMED_CUDA) kg_decomposed_timed(b, 5, cuda);
    else {
        const bool full = b->level == KG_CASES_FULL;
        // Not empty at first: the first call is checked by its values.
        plain(b, OF(KG_F32, 33, 33));
        plain(b, OF(KG_F32, 0, 0));
        plain(b, OF(KG_F32, 0, 3, 3));
        plain(b, OF(KG_F32, 2, 3, 4, 4));
        plain(b, OF(KG_F32, 30, 2, 2));
        plain(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 9), 2));
        kg_decomposed_case(b, OF(KG_F64, 6, 6), KG_WIDE_INTEGERS);
        for (int i = 0; i < 4; i++) {
            const kg_dtype t = dtypes[i];
            const double order = kg_dtype_is_complex(t) ? -8 : 8;
            plain(b, OF(t, 5, 5));
            plain(b, OF(t, 17, 17));
            plain(b, OF(t, 3, 6, 6));
            plain(b, kg_tensor_transposed(t, KG_SHAPE(7, 7), 0, 1));
            kg_decomposed_case(b, OF(t, 8, 8), (kg_fill){KG_FILL_HERMITIAN, order, 0});
            if (full || i < 2) plain(b, OF(t, 1, 1));
            if (full || i < 2) plain(b, OF(t, 2, 2));
            if (full || i < 2) kg_decomposed_case(b, OF(t, 3, 3), (kg_fill){KG_FILL_ZERO, 0, 0});
            if (full) plain(b, OF(t, 40, 40));
            if (full) kg_decomposed_case(b, OF(t, 8, 8), (kg_fill){KG_FILL_UPPER, order, 0});
            if (full) kg_decomposed_case(b, OF(t, 12, 12), KG_UNIFORM(0, 1));
        }
        if (full) plain(b, OF(KG_F32, 64, 64));
        if (full) plain(b, OF(KG_F64, 64, 64));
        if (full) plain(b, OF(KG_F32, 2, 1, 3, 10, 10));
    }
    return 0;
}
#undef OF

// ---- what must hold -----------------------------------------------------------------------------------
static int hold_pairs(kg_holds *h, const kg_factor *a, const kg_factor *v, const kg_complex *w, double error) {
    const int64_t n = a->rows;
    kg_panel x, y;
    if (kg_panel_make(&x, n, n)) return -1;
    double *size = malloc(((size_t)n + 1) * sizeof *size);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) x.x[i * n + j] = kg_factor_get(v, i, j);
    const int failed = !size || kg_panel_times(a, &x, &y);
    for (int64_t j = 0; !failed && j < n; j++) {
        double length = 0;
        size[j] = 1;
        for (int64_t i = 0; i < n; i++) {
            length = hypot(length, cabs(x.x[i * n + j]));
            x.x[i * n + j] *= w[j];
        }
        kg_hold(h, v->part, length, 1, 2 * KG_LAMBDA + 8 * sqrt((double)n), 0, "length of eigenvector %lld",
                (long long)j);
    }
    if (!failed) {
        kg_panel_subtract(&x, &y);
        kg_hold_columns(h, v->part, &x, 1, error, size, "A V - V diag(w)");
        kg_panel_free(&y);
    }
    free(size);
    kg_panel_free(&x);
    return failed ? -1 : 0;
}

static void hold_sums(kg_holds *h, const kg_factor *a, const kg_complex *w, double growth) {
    const double norm = kg_factor_norm(a);
    const int64_t n = a->rows;
    kg_complex trace = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        trace += w[i] - kg_factor_get(a, i, i);
        squares += w[i] * w[i];
        for (int64_t j = 0; j < n; j++) squares -= kg_factor_get(a, i, j) * kg_factor_get(a, j, i);
    }
    kg_hold(h, a->part, cabs(trace), 0, sqrt((double)n) * growth * norm, 0, "|sum of the eigenvalues - trace of A|");
    kg_hold(h, a->part, cabs(squares), 0, 2 * growth * norm * norm, 0,
            "|sum of the squared eigenvalues - trace of A^2|");
}

// Frobenius norm of V's inverse; infinite where it has none. -1: no memory.
static int inverse_norm(const kg_factor *v, double *norm) {
    const size_t n = (size_t)v->rows;
    gsl_matrix_complex *lu = gsl_matrix_complex_alloc(n, n), *inverse = gsl_matrix_complex_alloc(n, n);
    gsl_permutation *p = gsl_permutation_alloc(n);
    int sign, failed = !lu || !inverse || !p;
    *norm = 0;
    if (!failed) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                const kg_complex x = kg_factor_get(v, (int64_t)i, (int64_t)j);
                gsl_matrix_complex_set(lu, i, j, gsl_complex_rect(creal(x), cimag(x)));
            }
        gsl_linalg_complex_LU_decomp(lu, p, &sign);
        for (size_t i = 0; i < n; i++)
            if (!(gsl_complex_abs(gsl_matrix_complex_get(lu, i, i)) > 0)) *norm = INFINITY;
        if (*norm == 0) gsl_linalg_complex_LU_invert(lu, p, inverse);
        for (size_t i = 0; *norm < INFINITY && i < n * n; i++)
            *norm = hypot(*norm, gsl_complex_abs(gsl_matrix_complex_get(inverse, i / n, i % n)));
    }
    gsl_permutation_free(p);
    gsl_matrix_complex_free(lu);
    gsl_matrix_complex_free(inverse);
    return failed ? -1 : 0;
}

static int hold_one(const kg_call *call, const kg_answer *answer, kg_holds *h, int64_t which) {
    const kg_view view = kg_call_view(call, "A");
    const kg_case *c = call->c;
    const kg_factor a = kg_factor_of(&view, &c->args[A].tensor, which);
    const kg_factor v = kg_factor_of(&answer->out[1], &c->outs[1], which);
    const int64_t n = a.rows;
    const double growth = 2 * kg_orthogonal_growth(n, n) + 20 * (double)n;
    kg_complex *w = malloc(((size_t)n + 1) * sizeof *w);
    for (int64_t i = 0; w && i < n; i++)
        w[i] = kg_at(&answer->out[0], 2 * (which * n + i)) + I * kg_at(&answer->out[0], 2 * (which * n + i) + 1);
    int failed = !w || hold_pairs(h, &a, &v, w, growth * kg_factor_norm2(&a));
    if (!failed) hold_sums(h, &a, w, growth);
    if (!failed && n && n <= INVERTED) {
        double norm;
        failed = inverse_norm(&v, &norm);
        if (!failed)
            kg_hold_below(h, norm, 1 / (kg_dtype_unit(v.part) * sqrt((double)n)),
                          "the eigenvectors depend on each other: norm of their inverse");
    }
    free(w);
    return failed ? -1 : 0;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    for (int64_t i = 0; i < kg_factor_count(&call->c->args[A].tensor); i++)
        if (hold_one(call, answer, h, i)) return -1;
    return 0;
}

// Reducing to Hessenberg form and accumulating it, 7/3 n^3, and two steps of 3 n^2 or more for each eigenvalue and V.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    int64_t m = 0, n = 0;
    kg_decomposed_size(c, &m, &n);
    kg_decomposed_work(t, c, w, (7.0 / 3 + 6) * (double)n * (double)n * (double)n);
}

const kg_task kg_task_kbx_eig = {
    .name = "eig",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "eig(A, *, out=None) -> (Tensor, Tensor)",
    .summary = "Eigenvalues and eigenvectors of square matrices, complex and in any order.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 3,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.eig",
    .c_items = "kg_elements(A) ? kg_elements(A) / (kg_dim(A, -1) * kg_dim(A, -1)) : 0",
    .c_body =
        "// The QR algorithm on V's columns alone: those still sought become an orthonormal basis of (A - s) V, until the last one's\n"
        "// row of V^H A V is 0. Then that is triangular, and its eigenvectors follow from the last back, in place.\n"
        "const int64_t n = kg_dim(A, -1), w0 = i * n, v0 = i * n * n, down = kg_stride(A, -2), right = kg_stride(A, -1);\n"
        "const double tiny = eigenvectors->dtype.bits == 64 ? 2e-7 : 4e-16;\n"
        "int64_t a = 0, rest = i;\n"
        "double norm = 0, x, y, u, v;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    a += rest % A->shape[d] * kg_stride(A, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "for (int64_t e = 0; e < n * n; e++) {\n"
        "    kg_put_complex_at(eigenvectors, v0 + e, e % (n + 1) == 0, 0);\n"
        "    kg_get_complex_at(A, a + e / n * down + e % n * right, &x, &y);\n"
        "    norm = hypot(norm, hypot(x, y));\n"
        "}\n"
        "for (int64_t m = n, tries = 0; m > 1;) {\n"
        "    // The last row's elements, and the trailing 2 x 2 block's.\n"
        "    double left = 0, tr[4], ti[4];\n"
        "    for (int64_t c = 0; c < n; c++) {\n"
        "        double re = 0, im = 0;\n"
        "        for (int64_t r = 0; r < n; r++) {\n"
        "            kg_get_complex_at(A, a + r * down + c * right, &x, &y);\n"
        "            kg_get_complex_at(eigenvectors, v0 + r * n + m - 1, &u, &v);\n"
        "            re += x * u + y * v;\n"
        "            im += x * v - y * u;\n"
        "        }\n"
        "        kg_put_complex_at(eigenvalues, w0 + c, re, im);\n"
        "    }\n"
        "    for (int64_t j = 0; j < m; j++) {\n"
        "        double re = 0, im = 0;\n"
        "        for (int64_t r = 0; r < n; r++) {\n"
        "            kg_get_complex_at(eigenvalues, w0 + r, &x, &y);\n"
        "            kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "            re += x * u + y * v;\n"
        "            im += x * v - y * u;\n"
        "        }\n"
        "        if (j < m - 1) left = hypot(left, hypot(re, im));\n"
        "        if (j >= m - 2) tr[j - m + 4] = re, ti[j - m + 4] = im;\n"
        "    }\n"
        "    if (left <= tiny * norm || ++tries > 200) {\n"
        "        m--;\n"
        "        tries = 0;\n"
        "        continue;\n"
        "    }\n"
        "    for (int e = 0; e < 2; e++) {\n"
        "        tr[e] = 0, ti[e] = 0;\n"
        "        for (int64_t r = 0; r < n; r++) {\n"
        "            double re = 0, im = 0;\n"
        "            for (int64_t c = 0; c < n; c++) {\n"
        "                kg_get_complex_at(A, a + r * down + c * right, &x, &y);\n"
        "                kg_get_complex_at(eigenvectors, v0 + c * n + m - 2 + e, &u, &v);\n"
        "                re += x * u - y * v;\n"
        "                im += x * v + y * u;\n"
        "            }\n"
        "            kg_get_complex_at(eigenvectors, v0 + r * n + m - 2, &u, &v);\n"
        "            tr[e] += re * u + im * v;\n"
        "            ti[e] += im * u - re * v;\n"
        "        }\n"
        "    }\n"
        "    // The shift: the block's eigenvalue nearer to its last element d: d + h +- sqrt(h^2 + b c), h = (a - d) / 2.\n"
        "    const double hr = (tr[0] - tr[3]) / 2, hi = (ti[0] - ti[3]) / 2;\n"
        "    const double pr = hr * hr - hi * hi + tr[1] * tr[2] - ti[1] * ti[2];\n"
        "    const double pi = 2 * hr * hi + tr[1] * ti[2] + ti[1] * tr[2], size = hypot(pr, pi);\n"
        "    const double qr = sqrt(fmax(0, (size + pr) / 2)), qi = (pi < 0 ? -1 : 1) * sqrt(fmax(0, (size - pr) / 2));\n"
        "    const double sign = hypot(hr - qr, hi - qi) < hypot(hr + qr, hi + qi) ? -1 : 1;\n"
        "    const double sr = tr[3] + hr + sign * qr, si = ti[3] + hi + sign * qi + (tries % 10 == 0 ? left : 0);\n"
        "    for (int64_t j = 0; j < m; j++) {\n"
        "        for (int64_t r = 0; r < n; r++) {\n"
        "            double re = 0, im = 0;\n"
        "            for (int64_t c = 0; c < n; c++) {\n"
        "                kg_get_complex_at(A, a + r * down + c * right, &x, &y);\n"
        "                kg_get_complex_at(eigenvectors, v0 + c * n + j, &u, &v);\n"
        "                if (c == r) x -= sr, y -= si;\n"
        "                re += x * u - y * v;\n"
        "                im += x * v + y * u;\n"
        "            }\n"
        "            kg_put_complex_at(eigenvalues, w0 + r, re, im);\n"
        "        }\n"
        "        for (int64_t r = 0; r < n; r++) {\n"
        "            kg_get_complex_at(eigenvalues, w0 + r, &x, &y);\n"
        "            kg_put_complex_at(eigenvectors, v0 + r * n + j, x, y);\n"
        "        }\n"
        "        for (int pass = 0; pass < 4; pass++) {\n"
        "            for (int64_t l = 0; l < n; l++) {\n"
        "                double re = 0, im = 0;\n"
        "                if (l >= j && l < m) continue;\n"
        "                for (int64_t r = 0; r < n; r++) {\n"
        "                    kg_get_complex_at(eigenvectors, v0 + r * n + l, &x, &y);\n"
        "                    kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "                    re += x * u + y * v;\n"
        "                    im += x * v - y * u;\n"
        "                }\n"
        "                for (int64_t r = 0; r < n; r++) {\n"
        "                    kg_get_complex_at(eigenvectors, v0 + r * n + l, &x, &y);\n"
        "                    kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "                    kg_put_complex_at(eigenvectors, v0 + r * n + j, u - re * x + im * y, v - re * y - im * x);\n"
        "                }\n"
        "            }\n"
        "            double length = 0;\n"
        "            for (int64_t r = 0; r < n; r++) {\n"
        "                kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "                length = hypot(length, hypot(u, v));\n"
        "            }\n"
        "            for (int64_t r = 0; r < n; r++) {\n"
        "                kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "                // Nothing left: any other vector will do.\n"
        "                if (length == 0) kg_put_complex_at(eigenvectors, v0 + r * n + j, sin((double)(r + pass + 1)), 0);\n"
        "                else kg_put_complex_at(eigenvectors, v0 + r * n + j, u / length, v / length);\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n"
        "// w_j = v_j^H A v_j (k = j), then v_j += v_k (v_k^H A v_j) / (w_j - w_k) for k before j.\n"
        "for (int64_t step = 0; step < 2; step++) {\n"
        "    for (int64_t j = n - 1; j >= 0; j--) {\n"
        "        for (int64_t k = step ? j - 1 : j; k >= (step ? 0 : j); k--) {\n"
        "            double re = 0, im = 0;\n"
        "            for (int64_t r = 0; r < n; r++) {\n"
        "                double fr = 0, fi = 0;\n"
        "                for (int64_t c = 0; c < n; c++) {\n"
        "                    kg_get_complex_at(A, a + r * down + c * right, &x, &y);\n"
        "                    kg_get_complex_at(eigenvectors, v0 + c * n + j, &u, &v);\n"
        "                    fr += x * u - y * v;\n"
        "                    fi += x * v + y * u;\n"
        "                }\n"
        "                kg_get_complex_at(eigenvectors, v0 + r * n + k, &u, &v);\n"
        "                re += u * fr + v * fi;\n"
        "                im += u * fi - v * fr;\n"
        "            }\n"
        "            if (!step) {\n"
        "                kg_put_complex_at(eigenvalues, w0 + j, re, im);\n"
        "                continue;\n"
        "            }\n"
        "            kg_get_complex_at(eigenvalues, w0 + j, &x, &y);\n"
        "            kg_get_complex_at(eigenvalues, w0 + k, &u, &v);\n"
        "            x -= u, y -= v;\n"
        "            if (hypot(x, y) <= tiny * norm) x = tiny * norm, y = 0;\n"
        "            const double square = x * x + y * y, fr = (re * x + im * y) / square, fi = (im * x - re * y) / square;\n"
        "            for (int64_t r = 0; r < n && square > 0; r++) {\n"
        "                kg_get_complex_at(eigenvectors, v0 + r * n + k, &x, &y);\n"
        "                kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "                kg_put_complex_at(eigenvectors, v0 + r * n + j, u + fr * x - fi * y, v + fr * y + fi * x);\n"
        "            }\n"
        "        }\n"
        "        double length = 0;\n"
        "        for (int64_t r = 0; r < n; r++) {\n"
        "            kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "            length = hypot(length, hypot(u, v));\n"
        "        }\n"
        "        for (int64_t r = 0; r < n && step; r++) {\n"
        "            kg_get_complex_at(eigenvectors, v0 + r * n + j, &u, &v);\n"
        "            kg_put_complex_at(eigenvectors, v0 + r * n + j, u / length, v / length);\n"
        "        }\n"
        "    }\n"
        "}\n",
};
