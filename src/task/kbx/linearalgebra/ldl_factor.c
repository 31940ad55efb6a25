// ldl_factor(A, *, hermitian=False, out=None) -> (Tensor, Tensor)
//
// A = L D L^T, or L D L^H with hermitian (which means nothing for real A), for symmetric or Hermitian n x n matrices,
// in the packed form of LAPACK's sytrf and hetrf, lower: pivots are int32, counted from 1. pivots[k] = p > 0: a 1 x 1
// block of D, before which rows and columns k and p of what is left were exchanged. pivots[k] = pivots[k + 1] = -p: a 2
// x 2 block, and k + 1 and p were exchanged. LD holds D's blocks on and just below its diagonal, and the columns of L
// below them, which later exchanges leave alone. Above the diagonal LD may hold anything (PyTorch's zeros, or A's).
// Which pivots are taken is free as long as they are stable. Not in the cases: singular A, which PyTorch refuses. Left
// out: out=, two tensors.
//
// Bound: L D L^T = A + E with |E| <= p(n) u (|A| + |L| |D| |L^T|), element by element (Higham, Accuracy and Stability,
// theorem 11.3), roundings at random as in lu: 8 sqrt(n + 1) for p(n), four times that since solving with a 2 x 2 block
// by its inverse is stable by a large constant only (180 u at worst, there). Pivoting must keep |L| |D| |L^T| <= 36 n
// rho max |A|; partial pivoting (Bunch and Kaufman) does (Higham, section 11.1.2), and on random matrices stays far
// below with rho = 1. Without pivoting it grows without limit.
#include <stdlib.h>

#include "task/decomposed.h"

static const kg_param params[] = {{.name = "A", .kind = KG_P_TENSOR},
                                  {.name = "hermitian", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};
enum { A, HERMITIAN };
static const char *const outputs[] = {"LD", "pivots", NULL};

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    int64_t m, n;
    const kg_tensor *a = &c->args[A].tensor;
    if (kg_decomposed_size(c, &m, &n) || m != n) return -1;
    c->n_outs = 2;
    c->outs[0] = kg_decomposed_shape(a, a->dtype, n, n);
    c->outs[1] = kg_tensor_contiguous(KG_I32, a->ndim - 1, a->shape);
    return 0;
}

// ---- cases ------------------------------------------------------------------------------------------
static void add(kg_cases *b, kg_tensor a, bool hermitian, double diagonal) {
    const double n = (double)a.shape[a.ndim - 1];
    const bool pairs = kg_dtype_is_complex(a.dtype);
    const kg_fill_kind kind = hermitian && pairs ? KG_FILL_HERMITIAN : KG_FILL_SYMMETRIC;
    kg_case *c = kg_decomposed_case(b, a, (kg_fill){kind, pairs ? -n : n, diagonal});
    if (hermitian) kg_set_bool(c, b->task, "hermitian", true);
}

// Element (i, j) is the number at i + j: symmetric whatever the numbers.
static kg_tensor hankel(kg_dtype t, int64_t n) {
    kg_tensor a = kg_tensor_contiguous(t, KG_SHAPE(n, n));
    a.stride[0] = 1;
    return a;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void one_dtype(kg_cases *b, kg_dtype t, bool hermitian) {
    add(b, OF(t, 9, 9), hermitian, 0);
    add(b, OF(t, 33, 33), hermitian, 0);
    add(b, OF(t, 5, 12, 12), hermitian, 0);
    add(b, OF(t, 10, 10), hermitian, 20);  // definite: no exchanges
    add(b, kg_tensor_transposed(t, KG_SHAPE(14, 14), 0, 1), hermitian, 0);
}

static int cases(kg_cases *b) {
    static const int64_t cpu[] = {64, 128, 256, 512}, cuda[] = {32, 64, 128, 256, 512, 1024};
    const bool is_cpu = b->level == KG_TIMED_CPU;
    if (is_cpu || b->level == KG_TIMED_CUDA) {
        for (int i = 0; i < (is_cpu ? 4 : 6); i++) {
            const int64_t n = is_cpu ? cpu[i] : cuda[i];
            add(b, OF(KG_F32, n, n), false, 0);
        }
        return 0;
    }
    add(b, OF(KG_F32, 1, 1), false, 1);
    add(b, OF(KG_F32, 2, 2), false, 0);
    add(b, OF(KG_F32, 0, 0), false, 0);
    add(b, OF(KG_F32, 0, 3, 3), false, 0);
    add(b, OF(KG_F32, 64, 64), false, 0);
    add(b, OF(KG_F32, 2, 3, 7, 7), false, 0);
    add(b, OF(KG_F32, 40, 3, 3), false, 0);
    add(b, OF(KG_F32, 16, 16), true, 0);
    kg_decomposed_case(b, hankel(KG_F32, 21), KG_NORMAL(0, 1));
    kg_decomposed_case(b, hankel(KG_C64, 13), KG_NORMAL(0, 1));
    kg_decomposed_case(b, hankel(KG_F64, 9), KG_WIDE_INTEGERS);
    kg_decomposed_case(b, hankel(KG_F32, 8), KG_LOGSCALE(-10, 10));
    one_dtype(b, KG_F32, false);
    one_dtype(b, KG_C64, false);
    one_dtype(b, KG_C64, true);
    one_dtype(b, KG_F64, false);
    one_dtype(b, KG_C128, true);
    if (b->level == KG_CASES_FULL) {
        one_dtype(b, KG_C128, false);
        one_dtype(b, KG_F64, true);
        add(b, OF(KG_F32, 128, 128), false, 0);
        add(b, OF(KG_F32, 180, 180), false, 0);  // by Freivalds' method
        add(b, OF(KG_C64, 65, 65), true, 0);
        add(b, OF(KG_F64, 100, 100), false, 0);
        add(b, OF(KG_F32, 100, 2, 2), false, 0);
        kg_decomposed_case(b, hankel(KG_C128, 30), KG_NORMAL(0, 1));
    }
    return 0;
}
#undef OF

// ---- what must hold -----------------------------------------------------------------------------------
// The factors, unpacked: lower triangle with D in its blocks, and exchanges from 0.
typedef struct {
    int64_t n;
    bool hermitian;
    kg_complex *ld;     // n x n
    int64_t *exchange;  // row k was exchanged with exchange[k]
    bool *wide;         // k is the first of a 2 x 2 block
} packed;

static void packed_free(packed *f) {
    free(f->ld);
    free(f->exchange);
    free(f->wide);
}

// False, and said, when the pivots make no sense.
static bool read_pivots(kg_holds *h, const kg_view *v, int64_t first, packed *f) {
    for (int64_t k = 0; k < f->n; k++) {
        const int64_t p = (int64_t)kg_at(v, first + k), size = p < 0 ? 2 : 1, to = (p < 0 ? -p : p) - 1;
        const bool paired = p > 0 || (k + 1 < f->n && (int64_t)kg_at(v, first + k + 1) == p);
        const bool so = paired && to >= k + size - 1 && to < f->n;
        if (!so) {
            kg_hold_true(h, false, "pivots[%lld] is %lld, of %lld rows", (long long)k, (long long)p, (long long)f->n);
            return false;
        }
        f->wide[k] = size == 2;
        f->exchange[k] = size == 2 ? k : to;
        if (size == 2) f->exchange[++k] = to;
    }
    return true;
}

static void exchange_rows(kg_panel *y, int64_t a, int64_t b) {
    for (int64_t c = 0; a != b && c < y->s; c++) {
        const kg_complex x = y->x[a * y->s + c];
        y->x[a * y->s + c] = y->x[b * y->s + c];
        y->x[b * y->s + c] = x;
    }
}

// Row `to` += factor * row `from`.
static void add_row(kg_panel *y, int64_t to, int64_t from, kg_complex factor) {
    for (int64_t c = 0; c < y->s; c++) y->x[to * y->s + c] += factor * y->x[from * y->s + c];
}

static void times_d(const packed *f, kg_panel *y) {
    const int64_t n = f->n, s = y->s;
    for (int64_t k = 0; k < n; k++) {
        const kg_complex d = f->ld[k * n + k];
        if (!f->wide[k]) {
            for (int64_t c = 0; c < s; c++) y->x[k * s + c] *= d;
            continue;
        }
        const kg_complex below = f->ld[(k + 1) * n + k], above = f->hermitian ? conj(below) : below,
                         last = f->ld[(k + 1) * n + k + 1];
        for (int64_t c = 0; c < s; c++) {
            const kg_complex a = y->x[k * s + c], b = y->x[(k + 1) * s + c];
            y->x[k * s + c] = d * a + above * b;
            y->x[(k + 1) * s + c] = below * a + last * b;
        }
        k++;
    }
}

// y becomes P1 L1 P2 L2 ... D ... L2^T P2 L1^T P1 y.
static void times_factors(const packed *f, kg_panel *y) {
    const int64_t n = f->n;
    for (int64_t k = 0; k < n; k++) {
        const int64_t last = k + f->wide[k];
        exchange_rows(y, last, f->exchange[last]);
        for (; k <= last; k++)
            for (int64_t i = last + 1; i < n; i++)
                add_row(y, k, i, f->hermitian ? conj(f->ld[i * n + k]) : f->ld[i * n + k]);
        k--;
    }
    times_d(f, y);
    for (int64_t k = n - 1; k >= 0; k--) {
        const int64_t last = k, first = k > 0 && f->wide[k - 1] ? k - 1 : k;
        for (; k >= first; k--)
            for (int64_t i = last + 1; i < n; i++) add_row(y, i, k, f->ld[i * n + k]);
        k++;
        exchange_rows(y, last, f->exchange[last]);
    }
}

static double largest(const kg_factor *a) {
    double most = 0;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j <= i; j++) most = fmax(most, cabs(kg_factor_get(a, i, j)));
    return most;
}

static int hold_product(kg_holds *h, const kg_answer *answer, const kg_factor *a, packed *f) {
    const int64_t n = f->n;
    kg_sketch k;
    kg_panel ax = {0}, y = {0}, size = {0}, absolute = {0};
    if (kg_sketch_make(&k, n, n, answer)) return -1;
    const int64_t numbers = n * k.x.s;
    const int failed = kg_panel_times(a, &k.x, &ax) || kg_panel_make(&y, n, k.x.s) || kg_panel_make(&size, n, k.x.s) ||
                       kg_panel_make(&absolute, n, k.x.s);
    if (!failed) {
        for (int64_t i = 0; i < numbers; i++) y.x[i] = k.x.x[i];
        for (int64_t i = 0; i < numbers; i++) absolute.x[i] = fabs(creal(k.x.x[i]));
        times_factors(f, &y);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t c = 0; c < k.x.s; c++)
                    size.x[i * k.x.s + c] += cabs(kg_factor_get(a, i, j)) * fabs(creal(k.x.x[j * k.x.s + c]));
        for (int64_t i = 0; i < n * n; i++) f->ld[i] = cabs(f->ld[i]);
        times_factors(f, &absolute);
        const double limit = 36 * (double)n * largest(a) * (double)k.group, growth = 32 * sqrt((double)n + 1);
        for (int64_t i = 0; i < numbers; i++) {
            const long long row = i / k.x.s, column = i % k.x.s;
            kg_hold(h, a->part, cabs(ax.x[i] - y.x[i]), 0, growth * (creal(size.x[i]) + creal(absolute.x[i])), 0,
                    "|A - L D L^T| at [%lld,%lld]", row, column);
            kg_hold_below(h, creal(absolute.x[i]), limit, "(|L| |D| |L^T|)[%lld,%lld], 36 n max |A| with stable pivots",
                          row, column);
        }
    }
    kg_panel_free(&ax);
    kg_panel_free(&y);
    kg_panel_free(&size);
    kg_panel_free(&absolute);
    kg_panel_free(&k.x);
    return failed ? -1 : 0;
}

static int hold_one(const kg_call *call, const kg_answer *answer, kg_holds *h, int64_t which) {
    const kg_view view = kg_call_view(call, "A");
    const kg_case *c = call->c;
    const kg_factor a = kg_factor_of(&view, &c->args[A].tensor, which);
    const kg_factor ld = kg_factor_of(&answer->out[0], &c->outs[0], which);
    const int64_t n = a.rows;
    packed f = {.n = n,
                .hermitian = c->args[HERMITIAN].i,
                .ld = calloc((size_t)(n * n) + 1, sizeof *f.ld),
                .exchange = calloc((size_t)n + 1, sizeof *f.exchange),
                .wide = calloc((size_t)n + 1, sizeof *f.wide)};
    int failed = !f.ld || !f.exchange || !f.wide;
    if (!failed && read_pivots(h, &answer->out[1], which * n, &f)) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) f.ld[i * n + j] = kg_factor_get(&ld, i, j);
        failed = hold_product(h, answer, &a, &f);
    }
    packed_free(&f);
    return failed ? -1 : 0;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    for (int64_t i = 0; i < kg_factor_count(&call->c->args[A].tensor); i++)
        if (hold_one(call, answer, h, i)) return -1;
    return 0;
}

// Half of an elimination: one triangle.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    int64_t m = 0, n = 0;
    kg_decomposed_size(c, &m, &n);
    kg_decomposed_work(t, c, w, kg_elimination((double)m, (double)n) / 2);
}

const kg_task kg_task_kbx_ldl_factor = {
    .name = "ldl_factor",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "ldl_factor(A, *, hermitian=False, out=None) -> (Tensor, Tensor)",
    .summary = "LDL factorization of symmetric or Hermitian matrices, packed as LAPACK's sytrf does.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 3,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.ldl_factor",
    .c_items = "kg_elements(A) ? kg_elements(A) / (kg_dim(A, -1) * kg_dim(A, -1)) : 0",
    .c_body =
        "// Bunch and Kaufman's partial pivoting, with both triangles of what is left in LD.\n"
        "#define PUT(t, at, re, im) ((t)->dtype.code == kDLComplex ? kg_put_complex_at(t, at, re, im) : kg_put_at(t, at, re))\n"
        "const int64_t n = kg_dim(A, -1), ld = i * n * n;\n"
        "const double z = hermitian ? -1 : 1;\n"
        "int64_t a = 0, rest = i;\n"
        "double x, y, u, v;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    a += rest % A->shape[d] * kg_stride(A, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "for (int64_t r = 0; r < n; r++) {\n"
        "    for (int64_t c = 0; c <= r; c++) {\n"
        "        kg_get_complex_at(A, a + r * kg_stride(A, -2) + c * kg_stride(A, -1), &x, &y);\n"
        "        PUT(LD, ld + c * n + r, x, z * y);\n"
        "        PUT(LD, ld + r * n + c, x, r == c && hermitian ? 0 : y);\n"
        "    }\n"
        "}\n"
        "for (int64_t k = 0, size = 1; k < n; k += size) {\n"
        "    int64_t far = k, p = k;\n"
        "    double column = 0, row = 0, here = 0, there = 0;\n"
        "    size = 1;\n"
        "    for (int64_t r = k; r < n; r++) {\n"
        "        kg_get_complex_at(LD, ld + r * n + k, &x, &y);\n"
        "        if (r == k) here = hypot(x, y);\n"
        "        else if (hypot(x, y) > column) column = hypot(x, y), far = r;\n"
        "    }\n"
        "    for (int64_t c = k; c < n; c++) {\n"
        "        kg_get_complex_at(LD, ld + far * n + c, &x, &y);\n"
        "        if (c == far) there = hypot(x, y);\n"
        "        else row = fmax(row, hypot(x, y));\n"
        "    }\n"
        "    const double alpha = 0.6403882032022076;  // (1 + sqrt(17)) / 8\n"
        "    if (here < alpha * column && here * row < alpha * column * column) {\n"
        "        p = far;\n"
        "        if (there < alpha * row) size = 2;\n"
        "    }\n"
        "    const int64_t last = k + size - 1;\n"
        "    for (int64_t e = k; p != last && e < n; e++) {\n"
        "        kg_get_complex_at(LD, ld + p * n + e, &x, &y);\n"
        "        kg_get_complex_at(LD, ld + last * n + e, &u, &v);\n"
        "        PUT(LD, ld + p * n + e, u, v);\n"
        "        PUT(LD, ld + last * n + e, x, y);\n"
        "    }\n"
        "    for (int64_t e = k; p != last && e < n; e++) {\n"
        "        kg_get_complex_at(LD, ld + e * n + p, &x, &y);\n"
        "        kg_get_complex_at(LD, ld + e * n + last, &u, &v);\n"
        "        PUT(LD, ld + e * n + p, u, v);\n"
        "        PUT(LD, ld + e * n + last, x, y);\n"
        "    }\n"
        "    for (int64_t e = k; e <= last; e++) kg_put(pivots, i * n + e, (double)(size == 1 ? p + 1 : -(p + 1)));\n"
        "    // 1 / D's block: [ar cr; br dr] + i [ai ci; bi di].\n"
        "    double ar, ai, br = 0, bi = 0, cr = 0, ci = 0, dr = 0, di = 0, er, ei;\n"
        "    kg_get_complex_at(LD, ld + k * n + k, &ar, &ai);\n"
        "    er = ar, ei = ai;\n"
        "    if (size == 2) {\n"
        "        kg_get_complex_at(LD, ld + last * n + last, &ar, &ai);\n"
        "        kg_get_complex_at(LD, ld + k * n + k, &dr, &di);\n"
        "        kg_get_complex_at(LD, ld + last * n + k, &br, &bi);\n"
        "        kg_get_complex_at(LD, ld + k * n + last, &cr, &ci);\n"
        "        er = ar * dr - ai * di - br * cr + bi * ci;\n"
        "        ei = ar * di + ai * dr - br * ci - bi * cr;\n"
        "    } else {\n"
        "        ar = 1, ai = 0;\n"
        "    }\n"
        "    const double square = er * er + ei * ei;\n"
        "    for (int64_t r = last + 1; r < n; r++) {\n"
        "        // Row r of L: its two numbers times the inverse.\n"
        "        double fr, fi, gr = 0, gi = 0;\n"
        "        kg_get_complex_at(LD, ld + r * n + k, &x, &y);\n"
        "        fr = x * ar - y * ai, fi = x * ai + y * ar;\n"
        "        if (size == 2) {\n"
        "            kg_get_complex_at(LD, ld + r * n + last, &u, &v);\n"
        "            fr -= u * br - v * bi, fi -= u * bi + v * br;\n"
        "            gr = u * dr - v * di - x * cr + y * ci, gi = u * di + v * dr - x * ci - y * cr;\n"
        "        }\n"
        "        x = (fr * er + fi * ei) / square, y = (fi * er - fr * ei) / square;\n"
        "        fr = x, fi = y;\n"
        "        x = (gr * er + gi * ei) / square, y = (gi * er - gr * ei) / square;\n"
        "        gr = x, gi = y;\n"
        "        for (int64_t c = last + 1; c < n; c++) {\n"
        "            double sr, si;\n"
        "            kg_get_complex_at(LD, ld + r * n + c, &sr, &si);\n"
        "            kg_get_complex_at(LD, ld + k * n + c, &x, &y);\n"
        "            sr -= fr * x - fi * y, si -= fr * y + fi * x;\n"
        "            kg_get_complex_at(LD, ld + last * n + c, &x, &y);\n"
        "            sr -= gr * x - gi * y, si -= gr * y + gi * x;\n"
        "            PUT(LD, ld + r * n + c, sr, hermitian && r == c ? 0 : si);\n"
        "        }\n"
        "        PUT(LD, ld + r * n + k, fr, fi);\n"
        "        if (size == 2) PUT(LD, ld + r * n + last, gr, gi);\n"
        "    }\n"
        "}\n"
        "for (int64_t e = 0; e < n * n; e++)\n"
        "    if (e / n < e % n) PUT(LD, ld + e, 0, 0);\n"
        "#undef PUT\n",
};
