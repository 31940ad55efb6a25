// qr(A, mode='reduced', *, out=None) -> (Tensor, Tensor)
//
// A = Q R for matrices of m x n, k = min(m, n). mode "reduced": Q m x k, R k x n; "complete": Q m x m, R m x n; "r": R
// as in "reduced", and Q an empty tensor of one dimension. Q's columns are orthonormal, R is upper triangular, its
// diagonal real, of any sign (PyTorch's is LAPACK's, which promises none). So a factorisation is judged by what must
// hold. Left out: out=, two tensors.
//
// Bounds (src/oracle/decompositions.c): Householder's Q and R are exact for A + E with ||E[:,j]|| <= 2 growth u
// ||A[:,j]|| (Higham, theorem 19.4), once for R and once for Q, column by column, however dependent A's columns are.
// Q's columns are orthonormal to growth u. Classical Gram-Schmidt's are not: it errs by condition^2 u. Mode "r": R^H R
// is (A + E)^H (A + E), so R^H R - A^H A is at most 4 growth u ||A[:,i]|| ||A[:,j]||. Of a matrix with a NaN, Q or R
// has one too.
#include <stdlib.h>
#include <string.h>

#include "task/decomposed.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "mode", .kind = KG_P_STR, .optional = true, .has_default = true, .text = "reduced"},
    {.name = NULL}};
enum { A, MODE };
static const char *const outputs[] = {"Q", "R", NULL};

static bool is(const kg_case *c, const char *mode) { return strcmp(c->args[MODE].s, mode) == 0; }

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    int64_t m, n;
    const kg_tensor *a = &c->args[A].tensor;
    if (kg_decomposed_size(c, &m, &n) || (!is(c, "reduced") && !is(c, "complete") && !is(c, "r"))) return -1;
    const int64_t k = is(c, "complete") || m < n ? m : n;
    c->n_outs = 2;
    c->outs[0] = is(c, "r") ? kg_tensor_contiguous(a->dtype, KG_SHAPE(0)) : kg_decomposed_shape(a, a->dtype, m, k);
    c->outs[1] = kg_decomposed_shape(a, a->dtype, k, n);
    return 0;
}

// ---- cases ------------------------------------------------------------------------------------------
// Of rank one: what is left of the second column is u times the first, of the third u^2. A fourth would lead plain
// float kernels, whose squares underflow, out of their range.
static void modes(kg_cases *b, kg_dtype t) {
    static const char *const names[] = {"complete", "r"};
    const kg_fill one = {KG_FILL_CONST, 1.5, 0}, normal = KG_NORMAL(0, 1);
    for (int i = 0; i < 2; i++) {
        const kg_tensor shapes[] = {kg_tensor_contiguous(t, KG_SHAPE(13, 7)), kg_tensor_contiguous(t, KG_SHAPE(7, 13)),
                                    kg_tensor_contiguous(t, KG_SHAPE(2, 6, 3)),
                                    kg_tensor_transposed(t, KG_SHAPE(9, 5), 0, 1)};
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            kg_set_str(kg_decomposed_case(b, shapes[k], normal), b->task, "mode", names[i]);
        kg_set_str(kg_decomposed_case(b, shapes[0], KG_NEARLY_DEPENDENT), b->task, "mode", names[i]);
        kg_set_str(kg_decomposed_case(b, kg_tensor_contiguous(t, KG_SHAPE(11, 3)), one), b->task, "mode", names[i]);
    }
}

static int cases(kg_cases *b) {
    static const int64_t cpu[] = {64, 128, 256}, cuda[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
    static const char *const names[] = {"reduced", "complete", "r"};
    if (b->level == KG_TIMED_CPU) kg_decomposed_timed(b, 3, cpu);
    else if (b->level == KG_TIMED_CUDA) kg_decomposed_timed(b, 9, cuda);
    else {
        const kg_fill one = {KG_FILL_CONST, 1.5, 0}, zero = {KG_FILL_ZERO, 0, 0}, ties = {KG_FILL_TIES, 0, 0},
                      nan = {KG_FILL_CONST, NAN, 0};
        kg_decomposed_cases(b);
        kg_decomposed_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(12, 3)), one);
        kg_decomposed_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(3, 12)), one);
        kg_decomposed_case(b, kg_tensor_contiguous(KG_C64, KG_SHAPE(6, 4)), zero);
        kg_decomposed_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(24, 3, 3)), ties);  // some begin with a 0
        kg_decomposed_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(6, 4)), nan);
        modes(b, KG_F32);
        if (b->level == KG_CASES_FULL)
            for (int i = 0; i < 3; i++) {
                kg_set_str(kg_decomposed_case(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(4, 0)), zero), b->task, "mode",
                           names[i]);
                kg_set_str(kg_decomposed_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(7, 6)), zero), b->task, "mode",
                           names[i]);
            }
        kg_set_str(kg_decomposed_case(b, kg_tensor_contiguous(KG_C64, KG_SHAPE(12, 8)), KG_NORMAL(0, 1)), b->task,
                   "mode", "complete");
        kg_set_str(kg_decomposed_case(b, kg_tensor_contiguous(KG_C64, KG_SHAPE(12, 8)), KG_NORMAL(0, 1)), b->task,
                   "mode", "r");
        if (b->level == KG_CASES_FULL) modes(b, KG_C64);
        if (b->level == KG_CASES_FULL) modes(b, KG_C128);
    }
    return 0;
}

// ---- what must hold -----------------------------------------------------------------------------------
// Lengths of the columns of A X.
static double *lengths(const kg_panel *y) {
    double *size = calloc((size_t)y->s + 1, sizeof *size);
    for (int64_t i = 0; size && i < y->n; i++)
        for (int64_t c = 0; c < y->s; c++) size[c] = hypot(size[c], cabs(y->x[i * y->s + c]));
    return size;
}

static void hold_real_diagonal(kg_holds *h, const kg_factor *a, const kg_factor *r, double growth) {
    for (int64_t j = 0; r->is_complex && j < r->rows && j < r->cols; j++) {
        double size = 0;
        for (int64_t i = 0; i < a->rows; i++) size = hypot(size, cabs(kg_factor_get(a, i, j)));
        kg_hold(h, r->part, cimag(kg_factor_get(r, j, j)), 0, growth * size, 0, "R[%lld,%lld]: its imaginary part",
                (long long)j, (long long)j);
    }
}

// R^H R against A^H A.
static int hold_gram(kg_holds *h, const kg_sketch *k, const kg_factor *a, const kg_factor *r, double growth) {
    const kg_factor a_h = kg_factor_adjoint(a), r_h = kg_factor_adjoint(r);
    kg_panel ax, want = {0}, got = {0};
    int failed = kg_panel_times(a, &k->x, &ax);
    double *size = failed ? NULL : lengths(&ax);
    failed = failed || !size || kg_panel_times(&a_h, &ax, &want) || kg_panel_times2(&r_h, r, &k->x, &got);
    for (int64_t i = 0; !failed && i < want.n; i++) {
        double row = 0;
        for (int64_t l = 0; l < a->rows; l++) row = hypot(row, cabs(kg_factor_get(a, l, i)));
        for (int64_t c = 0; c < want.s; c++)
            kg_hold(h, r->part, cabs(got.x[i * got.s + c] - want.x[i * want.s + c]), 0,
                    2 * growth * row * size[c] * (k->group > 1 ? 4 : 1), 0, "|R^H R - A^H A| at [%lld,%lld]",
                    (long long)i, (long long)c);
    }
    free(size);
    kg_panel_free(&ax);
    kg_panel_free(&want);
    kg_panel_free(&got);
    return failed ? -1 : 0;
}

static int hold_product(kg_holds *h, const kg_sketch *k, const kg_factor *a, const kg_factor *q, const kg_factor *r,
                        double growth) {
    kg_panel ax, qrx = {0};
    int failed = kg_panel_times(a, &k->x, &ax);
    double *size = failed ? NULL : lengths(&ax);
    failed = failed || !size || kg_panel_times2(q, r, &k->x, &qrx);
    if (!failed) {
        kg_panel_subtract(&qrx, &ax);
        kg_hold_columns(h, q->part, &qrx, k->group, growth, size, "A - Q R");
    }
    free(size);
    kg_panel_free(&ax);
    kg_panel_free(&qrx);
    return failed ? -1 : 0;
}

static bool has_nan(const kg_answer *answer, const kg_case *c, int which_output, int64_t which) {
    const kg_factor f = kg_factor_of(&answer->out[which_output], &c->outs[which_output], which);
    return kg_factor_has_nan(&f);
}

static int hold_one(const kg_call *call, const kg_answer *answer, kg_holds *h, int64_t which) {
    const kg_view view = kg_call_view(call, "A");
    const kg_case *c = call->c;
    const kg_factor a = kg_factor_of(&view, &c->args[A].tensor, which);
    const kg_factor r = kg_factor_of(&answer->out[1], &c->outs[1], which);
    const double growth = 2 * kg_orthogonal_growth(a.rows, a.cols);
    kg_sketch k;
    if (kg_factor_has_nan(&a)) {  // where else it goes depends on the order of the steps
        kg_hold_true(h, kg_factor_has_nan(&r) || (!is(c, "r") && has_nan(answer, c, 0, which)),
                     "A has a NaN, and neither Q nor R has one");
        return 0;
    }
    if (kg_sketch_make(&k, a.cols, a.rows, answer)) return -1;
    int failed;
    kg_hold_triangle(h, &r, true, "R");
    hold_real_diagonal(h, &a, &r, growth);
    if (is(c, "r")) {
        failed = hold_gram(h, &k, &a, &r, growth);
    } else {
        const kg_factor q = kg_factor_of(&answer->out[0], &c->outs[0], which);
        failed = hold_product(h, &k, &a, &q, &r, growth) ||
                 kg_hold_orthonormal(h, answer, &q, kg_orthogonal_growth(q.rows, q.cols), "Q");
    }
    kg_panel_free(&k.x);
    return failed;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    for (int64_t i = 0; i < kg_factor_count(&call->c->args[A].tensor); i++)
        if (hold_one(call, answer, h, i)) return -1;
    return 0;
}

// R takes two multiplications for each of an elimination; Q once more as many.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    int64_t m = 0, n = 0;
    kg_decomposed_size(c, &m, &n);
    kg_decomposed_work(t, c, w, (is(c, "r") ? 2 : 4) * kg_elimination((double)m, (double)n));
}

const kg_task kg_task_kbx_qr = {
    .name = "qr",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "qr(A, mode='reduced', *, out=None) -> (Tensor, Tensor)",
    .summary = "QR decomposition: orthonormal columns times an upper triangle.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 3,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.qr",
    .c_items = "kg_elements(A) ? kg_elements(A) / (kg_dim(A, -2) * kg_dim(A, -1)) : A->ndim == 2",
    .c_body =
        "// Gram-Schmidt, each column three times; a column that depends on those before it gives way to a unit vector. Without Q\n"
        "// there is no room for that: then each row of A is rotated into R (Givens).\n"
        "#define PUT(t, at, re, im) ((t)->dtype.code == kDLComplex ? kg_put_complex_at(t, at, re, im) : kg_put_at(t, at, re))\n"
        "const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), rows = kg_dim(R, -2), r = i * rows * n, wide = kg_dim(Q, -1);\n"
        "const int64_t q = i * m * wide, down = kg_stride(A, -2), right = kg_stride(A, -1);\n"
        "const double tiny = A->dtype.bits == (A->dtype.code == kDLComplex ? 64 : 32) ? 4e-7 : 1e-15;\n"
        "int64_t a = 0, rest = i;\n"
        "double x, y, u, v;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    a += rest % A->shape[d] * kg_stride(A, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "for (int64_t k = 0; k < rows * n; k++) PUT(R, r + k, 0, 0);\n"
        "for (int64_t t = 0; kg_same(mode, \"r\") && t < m; t++) {\n"
        "    // The row lies in R's row t, or in the last one's zeros and in (x, y).\n"
        "    const int64_t at = r + (t < rows ? t : rows - 1) * n, most = t < rows ? n : n - 1;\n"
        "    for (int64_t j = 0; j < n; j++) {\n"
        "        kg_get_complex_at(A, a + t * down + j * right, &x, &y);\n"
        "        if (j < most) PUT(R, at + j, x, y);\n"
        "    }\n"
        "    for (int64_t l = 0; l < (t < rows ? t : rows); l++) {\n"
        "        const double d = kg_get(R, r + l * n + l);\n"
        "        u = x, v = y;\n"
        "        if (l < most) kg_get_complex_at(R, at + l, &u, &v);\n"
        "        const double h = hypot(d, hypot(u, v)), c = h > 0 ? d / h : 1, s = h > 0 ? u / h : 0, z = h > 0 ? v / h : 0;\n"
        "        for (int64_t j = l; j < n; j++) {\n"
        "            double f = x, g = y;\n"
        "            kg_get_complex_at(R, r + l * n + j, &u, &v);\n"
        "            if (j < most) kg_get_complex_at(R, at + j, &f, &g);\n"
        "            PUT(R, r + l * n + j, c * u + s * f + z * g, j > l ? c * v + s * g - z * f : 0);\n"
        "            if (j < most) PUT(R, at + j, c * f - s * u + z * v, c * g - s * v - z * u);\n"
        "            else x = c * f - s * u + z * v, y = c * g - s * v - z * u;\n"
        "        }\n"
        "    }\n"
        "    for (int64_t j = 0; j < (t < rows ? t : n - 1); j++) PUT(R, at + j, 0, 0);\n"
        "    if (t >= rows) continue;\n"
        "    kg_get_complex_at(R, at + t, &u, &v);\n"
        "    const double size = hypot(u, v), c = size > 0 ? u / size : 1, s = size > 0 ? v / size : 0;\n"
        "    for (int64_t j = t; j < n; j++) {\n"
        "        kg_get_complex_at(R, at + j, &x, &y);\n"
        "        PUT(R, at + j, c * x + s * y, j > t ? c * y - s * x : 0);\n"
        "    }\n"
        "}\n"
        "for (int64_t j = 0; !kg_same(mode, \"r\") && j < (n > wide ? n : wide); j++) {\n"
        "    // unit: -1 while the column is A's, then the unit vector that is tried.\n"
        "    double before = 0, length = 0;\n"
        "    for (int64_t unit = j < n ? -1 : 0; unit < m; unit++) {\n"
        "        for (int64_t k = 0; k < m; k++) {\n"
        "            x = (unit + j) % m == k, y = 0;\n"
        "            if (unit < 0) kg_get_complex_at(A, a + k * down + j * right, &x, &y);\n"
        "            before = k ? hypot(before, hypot(x, y)) : hypot(x, y);\n"
        "            if (j < wide) PUT(Q, q + k * wide + j, x, y);\n"
        "        }\n"
        "        for (int pass = 0; pass < (j < wide ? 3 : 1); pass++) {\n"
        "            for (int64_t l = 0; l < j && l < wide; l++) {\n"
        "                double re = 0, im = 0;\n"
        "                for (int64_t k = 0; k < m; k++) {\n"
        "                    if (j < wide) kg_get_complex_at(Q, q + k * wide + j, &x, &y);\n"
        "                    else kg_get_complex_at(A, a + k * down + j * right, &x, &y);\n"
        "                    kg_get_complex_at(Q, q + k * wide + l, &u, &v);\n"
        "                    re += u * x + v * y;\n"
        "                    im += u * y - v * x;\n"
        "                }\n"
        "                for (int64_t k = 0; j < wide && k < m; k++) {\n"
        "                    kg_get_complex_at(Q, q + k * wide + j, &x, &y);\n"
        "                    kg_get_complex_at(Q, q + k * wide + l, &u, &v);\n"
        "                    PUT(Q, q + k * wide + j, x - re * u + im * v, y - re * v - im * u);\n"
        "                }\n"
        "                if (unit >= 0 || l >= rows) continue;\n"
        "                kg_get_complex_at(R, r + l * n + j, &u, &v);\n"
        "                PUT(R, r + l * n + j, u + re, v + im);\n"
        "            }\n"
        "        }\n"
        "        if (j >= wide) break;\n"
        "        length = 0;\n"
        "        for (int64_t k = 0; k < m; k++) {\n"
        "            kg_get_complex_at(Q, q + k * wide + j, &x, &y);\n"
        "            length = hypot(length, hypot(x, y));\n"
        "        }\n"
        "        if (length > (unit < 0 ? tiny * before : 0.5 / sqrt((double)m))) {\n"
        "            if (unit < 0) PUT(R, r + j * n + j, length, 0);\n"
        "            break;\n"
        "        }\n"
        "    }\n"
        "    for (int64_t k = 0; j < wide && k < m; k++) {\n"
        "        kg_get_complex_at(Q, q + k * wide + j, &x, &y);\n"
        "        PUT(Q, q + k * wide + j, x / length, y / length);\n"
        "    }\n"
        "}\n"
        "#undef PUT\n",
};
