// svd(A, full_matrices=True, *, driver=None, out=None) -> (Tensor, Tensor, Tensor)
//
// A = U diag(S) Vh for matrices of m x n, k = min(m, n): U m x m, S k, Vh n x n, or U m x k and Vh k x n where
// full_matrices is false. U's columns and Vh's rows are orthonormal; S is real, not negative, and descends. Signs,
// phases, and bases where singular values meet are free. Left out: driver, which of cuSOLVER's methods to use (no other
// answer, and PyTorch refuses it on the CPU), and out=, three tensors.
//
// Bounds: S is exact for A + E, ||E||_2 <= growth u ||A||_2, so each is within that (Weyl; Golub and Van Loan, Matrix
// Computations, 8.6), however small it is; U's and V's columns are orthonormal to growth u each; the three together
// leave 3 growth u ||A||_2 in a column of A - U S Vh. growth is that of orthogonal transformations (decompositions.c)
// and 5 k: methods that iterate rotate a column up to 10 k times, and the error of a rotation's length does not average
// out: where the sine is below sqrt(u) the cosine rounds to 1, which lengthens by up to u / 2 (float Jacobi: 3 k in
// all). ||A||_2 is found by the power method. S follows from the residual and the factors' orthogonality; where A is
// small it is compared with GSL's eigenvalues of [0 A; A^H 0] too, which says what is wrong.
#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_eigen.h>
#include <stdlib.h>

#include "task/decomposed.h"

#define COMPARED 128  // m + n up to which S is compared

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "full_matrices", .kind = KG_P_BOOL, .optional = true, .has_default = true, .number = 1},
    {.name = NULL}};
enum { A, FULL };
static const char *const outputs[] = {"U", "S", "Vh", NULL};

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    int64_t m, n;
    const kg_tensor *a = &c->args[A].tensor;
    if (kg_decomposed_size(c, &m, &n)) return -1;
    const int64_t k = m < n ? m : n;
    const bool full = c->args[FULL].i;
    const kg_tensor row = kg_decomposed_shape(a, kg_dtype_part(a->dtype), 1, k);
    int64_t shape[KG_MAX_NDIM];
    for (int d = 0; d < a->ndim - 1; d++) shape[d] = d < a->ndim - 2 ? row.shape[d] : k;
    c->n_outs = 3;
    c->outs[0] = kg_decomposed_shape(a, a->dtype, m, full ? m : k);
    c->outs[1] = kg_tensor_contiguous(row.dtype, a->ndim - 1, shape);
    c->outs[2] = kg_decomposed_shape(a, a->dtype, full ? n : k, n);
    return 0;
}

// ---- cases ------------------------------------------------------------------------------------------
static void reduced(kg_cases *b, kg_tensor a, kg_fill fill) {
    kg_set_bool(kg_decomposed_case(b, a, fill), b->task, "full_matrices", false);
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static int cases(kg_cases *b) {
    static const int64_t cpu[] = {16, 32, 64, 128}, cuda[] = {16, 32, 64, 128, 256};
    static const kg_dtype dtypes[] = {KG_F32, KG_C64, KG_F64, KG_C128};
    if (b->level == KG_TIMED_CPU) kg_decomposed_timed(b, 4, cpu);
    else if (b->level == KG_TIMED_CUDA) kg_decomposed_timed(b, 5, cuda);
    else {
        const kg_fill normal = KG_NORMAL(0, 1), one = {KG_FILL_CONST, 1.5, 0}, zero = {KG_FILL_ZERO, 0, 0};
        kg_decomposed_cases(b);
        kg_set_bool(kg_decomposed_case(b, OF(KG_F32, 6, 9), normal), b->task, "full_matrices", true);
        for (int i = 0; i < (b->level == KG_CASES_FULL ? 4 : 2); i++) {
            const kg_dtype t = dtypes[i];
            reduced(b, OF(t, 13, 7), normal);
            reduced(b, OF(t, 7, 13), normal);
            reduced(b, OF(t, 2, 3, 6, 4), normal);
            reduced(b, OF(t, 12, 3), one);  // rank one: U and V must be orthonormal all the same
            kg_decomposed_case(b, OF(t, 3, 12), one);
            kg_decomposed_case(b, OF(t, 4, 3), zero);
        }
        reduced(b, OF(KG_F32, 0, 3), normal);
        reduced(b, OF(KG_F32, 4, 0), normal);
        reduced(b, kg_tensor_transposed(KG_F32, KG_SHAPE(9, 14), 0, 1), normal);
        if (b->level == KG_CASES_FULL) reduced(b, OF(KG_F32, 300, 40), normal);
        if (b->level == KG_CASES_FULL) reduced(b, OF(KG_F64, 50, 60), normal);
    }
    return 0;
}
#undef OF

// ---- what must hold -----------------------------------------------------------------------------------
static int descending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

// Eigenvalues of [0 A; A^H 0], descending: the singular values, |m - n| zeros, and their negatives. NULL: no memory.
static double *golub_kahan(const kg_factor *a) {
    const size_t m = (size_t)a->rows, n = (size_t)a->cols, size = m + n;
    gsl_matrix_complex *z = gsl_matrix_complex_calloc(size, size);
    gsl_vector *values = gsl_vector_alloc(size);
    gsl_eigen_herm_workspace *w = gsl_eigen_herm_alloc(size);
    double *s = z && values && w ? malloc(size * sizeof *s) : NULL;
    for (size_t i = 0; s && i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const kg_complex x = kg_factor_get(a, (int64_t)i, (int64_t)j);
            gsl_matrix_complex_set(z, i, m + j, gsl_complex_rect(creal(x), cimag(x)));
            gsl_matrix_complex_set(z, m + j, i, gsl_complex_rect(creal(x), -cimag(x)));
        }
    if (s) {
        gsl_eigen_herm(z, values, w);
        for (size_t i = 0; i < size; i++) s[i] = gsl_vector_get(values, i);
        qsort(s, size, sizeof *s, descending);
    }
    gsl_eigen_herm_free(w);
    gsl_vector_free(values);
    gsl_matrix_complex_free(z);
    return s;
}

static int hold_values(kg_holds *h, const kg_factor *a, const kg_view *s, int64_t first, int64_t k, double error) {
    double *want = a->rows + a->cols <= COMPARED && k ? golub_kahan(a) : NULL;
    if (!want && a->rows + a->cols <= COMPARED && k) return -1;
    for (int64_t i = 0; i < k; i++) {
        const double x = kg_at(s, first + i), before = i ? kg_at(s, first + i - 1) : INFINITY;
        if (!(x >= 0 && x <= before))
            kg_hold_true(h, false, "S[%lld] is %g after %g: S descends and is not negative", (long long)i, x, before);
        const double local = error + (want ? fabs(want[i]) : 0);  // and its storing
        if (want) kg_hold(h, a->part, x, want[i], local, 0, "S[%lld]", (long long)i);
    }
    free(want);
    return 0;
}

// A X - U S Vh X, with the first k columns of U and rows of Vh.
static int hold_product(kg_holds *h, const kg_answer *answer, const kg_factor *a, kg_factor u, const double *s,
                        kg_factor vh, double error) {
    const int64_t k = u.cols = vh.rows = a->rows < a->cols ? a->rows : a->cols;
    kg_sketch sketch;
    kg_panel ax = {0}, y = {0}, uy = {0};
    if (kg_sketch_make(&sketch, a->cols, a->rows, answer)) return -1;
    double *size = malloc(((size_t)sketch.x.s + 1) * sizeof *size);
    int failed = !size || kg_panel_times(a, &sketch.x, &ax) || kg_panel_times(&vh, &sketch.x, &y);
    for (int64_t i = 0; !failed && i < k; i++)
        for (int64_t c = 0; c < y.s; c++) y.x[i * y.s + c] *= s[i];
    failed = failed || kg_panel_times(&u, &y, &uy);
    if (!failed) {
        kg_panel_subtract(&uy, &ax);
        for (int64_t c = 0; c < uy.s; c++) size[c] = sqrt((double)sketch.group);
        kg_hold_columns(h, a->part, &uy, sketch.group, 3 * error, size, "A - U S Vh");
    }
    free(size);
    kg_panel_free(&ax);
    kg_panel_free(&y);
    kg_panel_free(&uy);
    kg_panel_free(&sketch.x);
    return failed ? -1 : 0;
}

static int hold_one(const kg_call *call, const kg_answer *answer, kg_holds *h, int64_t which) {
    const kg_view view = kg_call_view(call, "A");
    const kg_case *c = call->c;
    const kg_factor a = kg_factor_of(&view, &c->args[A].tensor, which);
    const kg_factor u = kg_factor_of(&answer->out[0], &c->outs[0], which);
    const kg_factor vh = kg_factor_of(&answer->out[2], &c->outs[2], which), v = kg_factor_adjoint(&vh);
    const int64_t k = a.rows < a.cols ? a.rows : a.cols;
    const double growth = kg_orthogonal_growth(a.rows, a.cols) + 5 * (double)k, error = growth * kg_factor_norm2(&a);
    double *s = malloc(((size_t)k + 1) * sizeof *s);
    for (int64_t i = 0; s && i < k; i++) s[i] = kg_at(&answer->out[1], which * k + i);
    const int failed = !s || hold_values(h, &a, &answer->out[1], which * k, k, error) ||
                       hold_product(h, answer, &a, u, s, vh, error) ||
                       kg_hold_orthonormal(h, answer, &u, growth, "U") ||
                       kg_hold_orthonormal(h, answer, &v, growth, "Vh");
    free(s);
    return failed ? -1 : 0;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    for (int64_t i = 0; i < kg_factor_count(&call->c->args[A].tensor); i++)
        if (hold_one(call, answer, h, i)) return -1;
    return 0;
}

// Reducing to two diagonals takes four multiplications for each of an elimination, U and Vh no less together.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    int64_t m = 0, n = 0;
    kg_decomposed_size(c, &m, &n);
    kg_decomposed_work(t, c, w, 8 * kg_elimination((double)m, (double)n));
}

const kg_task kg_task_kbx_svd = {
    .name = "svd",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "svd(A, full_matrices=True, *, driver=None, out=None) -> (Tensor, Tensor, Tensor)",
    .summary = "Singular value decomposition: orthonormal columns, descending singular values, orthonormal rows.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 7,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.svd",
    .c_items = "kg_elements(A) ? kg_elements(A) / (kg_dim(A, -2) * kg_dim(A, -1)) : A->ndim == 2",
    .c_body =
        "// One-sided Jacobi: the k vectors w of X, columns of A or of its adjoint, are rotated until they are orthogonal, those of\n"
        "// Y along with them. So A = U S Vh with S the lengths of w. For m >= n w are U's columns and Y's are Vh's rows, else the\n"
        "// other way round; rows are kept conjugate (z = -1).\n"
        "#define PUT(t, at, re, im) ((t)->dtype.code == kDLComplex ? kg_put_complex_at(t, at, re, im) : kg_put_at(t, at, re))\n"
        "const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = m < n ? m : n, len = m < n ? n : m;\n"
        "const int64_t wide = kg_dim(U, -1), high = kg_dim(Vh, -2), u0 = i * m * wide, v0 = i * high * n;\n"
        "const bool tall = m >= n, small = A->dtype.bits == (A->dtype.code == kDLComplex ? 64 : 32);\n"
        "const int64_t x0 = tall ? u0 : v0, xe = tall ? wide : 1, xp = tall ? 1 : n, y0 = tall ? v0 : u0, ye = tall ? 1 : wide,\n"
        "              yp = tall ? n : 1;\n"
        "const double zx = tall ? 1 : -1;\n"
        "DLTensor *X = tall ? U : Vh, *Y = tall ? Vh : U;\n"
        "int64_t a = 0, rest = i;\n"
        "double x, y, u, v;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    a += rest % A->shape[d] * kg_stride(A, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "for (int64_t p = 0; p < k; p++) {\n"
        "    for (int64_t e = 0; e < len; e++) {\n"
        "        kg_get_complex_at(A, a + (tall ? e : p) * kg_stride(A, -2) + (tall ? p : e) * kg_stride(A, -1), &x, &y);\n"
        "        PUT(X, x0 + p * xp + e * xe, x, y);\n"
        "    }\n"
        "    for (int64_t e = 0; e < k; e++) PUT(Y, y0 + p * yp + e * ye, e == p, 0);\n"
        "}\n"
        "for (int sweep = 0, turned = 1; sweep < 40 && turned; sweep++) {\n"
        "    turned = 0;\n"
        "    for (int64_t p = 0; p < k; p++) {\n"
        "        for (int64_t q = p + 1; q < k; q++) {\n"
        "            double alpha = 0, beta = 0, re = 0, im = 0;\n"
        "            for (int64_t e = 0; e < len; e++) {\n"
        "                kg_get_complex_at(X, x0 + p * xp + e * xe, &x, &y);\n"
        "                kg_get_complex_at(X, x0 + q * xp + e * xe, &u, &v);\n"
        "                alpha += x * x + y * y;\n"
        "                beta += u * u + v * v;\n"
        "                re += x * u + y * v;\n"
        "                im += zx * (x * v - y * u);\n"
        "            }\n"
        "            const double size = hypot(re, im), zeta = (beta - alpha) / (2 * size);\n"
        "            // The longer one stands first.\n"
        "            if (size <= (small ? 1e-7 : 2e-16) * sqrt(alpha) * sqrt(beta) && alpha >= beta) continue;\n"
        "            double t = 1 / (fabs(zeta) + sqrt(1 + zeta * zeta)), c, s;\n"
        "            turned = 1;\n"
        "            if (size == 0 || t == 0) {\n"
        "                c = 0, s = 1, re = 1, im = 0;\n"
        "            } else {\n"
        "                // The larger of the two angles where the shorter stands first: it swaps them.\n"
        "                t = beta > alpha ? -1 / t : -t;\n"
        "                c = 1 / sqrt(1 + t * t);\n"
        "                s = c * t;\n"
        "                re /= size, im /= size;\n"
        "            }\n"
        "            for (int64_t e = 0; e < len + k; e++) {\n"
        "                DLTensor *to = e < len ? X : Y;\n"
        "                const int64_t ap = e < len ? x0 + p * xp + e * xe : y0 + p * yp + (e - len) * ye;\n"
        "                const int64_t aq = e < len ? x0 + q * xp + e * xe : y0 + q * yp + (e - len) * ye;\n"
        "                const double z = e < len ? zx : -zx;\n"
        "                kg_get_complex_at(to, ap, &x, &y);\n"
        "                kg_get_complex_at(to, aq, &u, &v);\n"
        "                const double f = re * u + z * im * v, g = re * v - z * im * u;\n"
        "                PUT(to, ap, c * x - s * f, c * y - s * g);\n"
        "                PUT(to, aq, s * x + c * f, s * y + c * g);\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n"
        "double largest = 0;\n"
        "for (int64_t p = 0; p < (tall ? wide : high); p++) {\n"
        "    double length = 0;\n"
        "    for (int64_t e = 0; p < k && e < len; e++) {\n"
        "        kg_get_complex_at(X, x0 + p * xp + e * xe, &x, &y);\n"
        "        length = hypot(length, hypot(x, y));\n"
        "    }\n"
        "    largest = fmax(largest, length);\n"
        "    if (length <= (small ? 5e-7 : 1e-15) * largest) length = 0;\n"
        "    if (p < k) kg_put(S, i * k + p, length);\n"
        "    // A vector of length 0 gives way to a unit vector without its share in those before it.\n"
        "    for (int64_t unit = 0; length == 0 && unit < len; unit++) {\n"
        "        for (int64_t e = 0; e < len; e++) PUT(X, x0 + p * xp + e * xe, e == (p + unit) % len, 0);\n"
        "        for (int64_t l = 0; l < 2 * p; l++) {\n"
        "            double re = 0, im = 0;\n"
        "            for (int64_t e = 0; e < len; e++) {\n"
        "                kg_get_complex_at(X, x0 + p * xp + e * xe, &x, &y);\n"
        "                kg_get_complex_at(X, x0 + l % p * xp + e * xe, &u, &v);\n"
        "                re += u * x + v * y;\n"
        "                im += u * y - v * x;\n"
        "            }\n"
        "            for (int64_t e = 0; e < len; e++) {\n"
        "                kg_get_complex_at(X, x0 + p * xp + e * xe, &x, &y);\n"
        "                kg_get_complex_at(X, x0 + l % p * xp + e * xe, &u, &v);\n"
        "                PUT(X, x0 + p * xp + e * xe, x - re * u + im * v, y - re * v - im * u);\n"
        "            }\n"
        "        }\n"
        "        for (int64_t e = 0; e < len; e++) {\n"
        "            kg_get_complex_at(X, x0 + p * xp + e * xe, &x, &y);\n"
        "            length = hypot(length, hypot(x, y));\n"
        "        }\n"
        "        if (length < 0.5 / sqrt((double)len)) length = 0;\n"
        "    }\n"
        "    for (int64_t e = 0; e < len; e++) {\n"
        "        kg_get_complex_at(X, x0 + p * xp + e * xe, &x, &y);\n"
        "        PUT(X, x0 + p * xp + e * xe, x / length, y / length);\n"
        "    }\n"
        "}\n"
        "#undef PUT\n",
};
