// matrix_power_eig(A, k, *, out=None) -> Tensor
//
// V diag(lambda^k) V^-1 of A (*, n, n), for a real exponent k, lambda^k by the principal branch. The result is complex
// for real A too, as torch.linalg.eig's factors are. Complex exponents are left out: no parameter of a kernel holds
// one. Fractional exponents have matrices whose eigenvalues lie in the right half plane, away from the cut; integers
// any.
//
// Bound: eig is that of A + E, E of deviation e = kg_svd_error(n) u |A|_F / sqrt(n) (as in spectral_norm_eig), and V
// and its inverse W err by kg_svd_error(n) u / sqrt(n) in an element of a column of length 1. With F the divided
// differences of lambda^k, X the result (Higham, Functions of Matrices, theorem 3.11 and section 4.5),
//     dX = V ((W E V) o F) W + X dV W + V dLambda W,
// each of independent errors; a power errs by 8 + |k log lambda| units. GSL's factors err alike: float64 cases get
// twice the bound. Where V is nearly singular nothing is claimed. Large ones are symmetric, so that V is orthogonal: X
// z for random signs z, against the binomial series of mu^k (I + (A / mu - I))^k z, mu the diagonal's mean, which the
// raised diagonal makes converge.
#include <complex.h>
#include <stdlib.h>
#undef complex  // a name of ours

#include "task/singular.h"

#define SMALL 64

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "k", .kind = KG_P_FLOAT},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, EXPONENT };

// ---- cases --------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int n_batch, const int64_t *batch, int64_t n,
                    double k) {
    kg_case *c = kg_singular_add(b, KG_FILL_NORMAL, t, n_batch, batch, n, n);
    c->args[A].fill = kg_matrix_fill(kind, t, n);
    kg_set_float(c, b->task, "k", k);
    return c;
}

static void some(kg_cases *b, kg_dtype t) {
    add(b, KG_FILL_RAISED, t, 0, NULL, 9, 0.5);
    add(b, KG_FILL_RAISED, t, 0, NULL, 6, -1.5);
    add(b, KG_FILL_NORMAL, t, 0, NULL, 7, 2);
    add(b, KG_FILL_NORMAL, t, 0, NULL, 5, -1);
    add(b, KG_FILL_RAISED, t, 2, (int64_t[]){2, 3}, 4, 0.25);
    add(b, KG_FILL_RAISED, t, 0, NULL, 10, 1.5)->args[A].tensor = kg_tensor_transposed(t, KG_SHAPE(10, 10), 0, 1);
}

static void few(kg_cases *b) {
    static const int64_t orders[] = {1, 2, 3, 17, 33}, more[] = {4, 8, 16, 31, 32, 48};
    static const double exponents[] = {0.5, 0.3, -0.5, 1.5, 2.5};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        add(b, KG_FILL_RAISED, KG_F32, 0, NULL, orders[i], exponents[i]);
    some(b, KG_F32);
    some(b, KG_F64);
    some(b, KG_C64);
    add(b, KG_FILL_SYMMETRIC, KG_F32, 0, NULL, 12, 0.5);
    add(b, KG_FILL_NORMAL, KG_F32, 0, NULL, 6, 3);
    add(b, KG_FILL_NORMAL, KG_F32, 0, NULL, 6, 1);
    add(b, KG_FILL_NORMAL, KG_F32, 0, NULL, 6, 0);
    add(b, KG_FILL_CYCLIC, KG_F32, 0, NULL, 8, -2);
    add(b, KG_FILL_RAISED, KG_F32, 1, (int64_t[]){0}, 3, 0.5);
    add(b, KG_FILL_RAISED, KG_F32, 1, (int64_t[]){11}, 2, 0.5);
    add(b, KG_FILL_NORMAL, KG_F64, 0, NULL, 5, 2)->args[A].fill = KG_WIDE_INTEGERS;
    kg_give_out(b, add(b, KG_FILL_RAISED, KG_F32, 1, (int64_t[]){3}, 5, 0.5));
    if (b->level == KG_CASES_QUICK) return;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (int d = 0; d < 2; d++)
            add(b, KG_FILL_RAISED, d ? KG_F64 : KG_F32, 0, NULL, more[i],
                exponents[(i + (size_t)d) % 5 == 1 ? 0 : (i + (size_t)d) % 5]);
    some(b, KG_C128);
    add(b, KG_FILL_SYMMETRIC, KG_F32, 0, NULL, 96, 0.5);
    add(b, KG_FILL_SYMMETRIC, KG_F32, 0, NULL, 80, -1.5);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        few(b);
        return 0;
    }
    if (b->level == KG_TIMED_CPU) add(b, KG_FILL_SYMMETRIC, KG_F32, 0, NULL, 48, 0.5);
    if (b->level == KG_TIMED_CPU) add(b, KG_FILL_SYMMETRIC, KG_F32, 0, NULL, 96, 0.5);
    for (int64_t n = 256; b->level == KG_TIMED_CUDA && n <= 1664; n += 128)
        add(b, KG_FILL_SYMMETRIC, KG_F32, 0, NULL, n, 0.5);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[A].tensor;
    if (a->ndim < 2 || a->shape[a->ndim - 1] != a->shape[a->ndim - 2]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_dtype_part(a->dtype) == KG_F64 ? KG_C128 : KG_C64, a->ndim, a->shape);
    return 0;
}

// ---- every element --------------------------------------------------------------------------------------
typedef double _Complex scalar;

// Of the m x m matrix that has the factors: value and the error's square, in units of u.
static void power_of(const kg_eigen *e, double k, double element, double vectors, scalar *x, double *x2) {
    const int64_t n = e->n;
    const scalar *value = (const scalar *)e->value, *v = (const scalar *)e->v, *w = (const scalar *)e->w;
    scalar *f = kg_alloc((size_t)n * sizeof *f);
    double *vn = kg_alloc((size_t)(3 * n) * sizeof *vn), *wn = vn + n, *xn = wn + n;
    double *turn = kg_alloc((size_t)(n * n) * sizeof *turn);
    for (int64_t l = 0; l < n; l++) {
        f[l] = cpow(value[l], k);
        for (int64_t i = 0; i < n; i++) {
            vn[l] += pow(cabs(v[i * n + l]), 2);
            wn[l] += pow(cabs(w[l * n + i]), 2);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            for (int64_t l = 0; l < n; l++) x[i * n + j] += v[i * n + l] * f[l] * w[l * n + j];
            xn[i] += pow(cabs(x[i * n + j]), 2);
        }
    for (int64_t p = 0; p < n; p++)  // ((W E V) o F) W: squares by row of W and column
        for (int64_t l = 0; l < n; l++) {
            const double apart = cabs(value[p] - value[l]);
            const scalar slope =
                apart <= 1e-9 * cabs(value[p]) ? k * f[p] / value[p] : (f[p] - f[l]) / (value[p] - value[l]);
            const double s = wn[p] * vn[l] * pow(cabs(slope), 2) * element * element;
            for (int64_t j = 0; j < n; j++) turn[p * n + j] += s * pow(cabs(w[l * n + j]), 2);
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < n; l++) {
                const double vi = pow(cabs(v[i * n + l]), 2), wj = pow(cabs(w[l * n + j]), 2);
                const double rounds = 8 + (k == 0 ? 0 : fabs(k) * cabs(clog(value[l])));
                x2[i * n + j] += vi * turn[l * n + j] + xn[i] * vectors * vectors * vn[l] * wj +
                                 vi * pow(cabs(f[l]), 2) * wj * (rounds * rounds + (double)n);
            }
    free(f);
    free(vn);
    free(turn);
}

// An answer's elements against the power; of a complex matrix's real form (step 2) one column of each block.
static void hold_power(const kg_answer *answer, int64_t number, int64_t n, int step, const scalar *x, const double *x2,
                       kg_dtype t, kg_holds *h) {
    const double twice = t == KG_C128 ? 2 : 1;
    for (int o = 0; o < answer->n; o++)
        for (int64_t k = 0; k < n * n; k++) {
            const int64_t at = step == 1 ? k : 2 * (k / n) * 2 * n + 2 * (k % n);
            const double re = creal(x[at]), im = step == 1 ? cimag(x[at]) : creal(x[at + 2 * n]);
            const double local = KG_SPREAD * twice * sqrt(x2[at]) + hypot(re, im);
            for (int p = 0; p < 2; p++)
                kg_hold(h, t, kg_at(&answer->out[o], 2 * (number * n * n + k) + p), p ? im : re, local, 0,
                        "out[%lld,%lld]%s of matrix %lld", (long long)(k / n), (long long)(k % n), p ? ".imag" : "",
                        (long long)number);
        }
}

static void hold_elements(const kg_matrices *a, int64_t number, double k, kg_dtype t, const kg_answer *answer,
                          kg_holds *h) {
    kg_matrix m = kg_matrix_load(a, number);
    kg_eigen e;
    double norm = 0, vw = 0;
    for (int64_t i = 0; i < m.rows * m.cols; i++) norm += (double)(m.at[i] * m.at[i]);
    if (kg_eigen_of(&m, &e) == 0) {
        const double c = kg_svd_error(a->rows), root = sqrt((double)m.rows);
        for (int64_t i = 0; i < 2 * m.rows * m.cols; i++) vw += e.w[i] * e.w[i];
        if (KG_SPREAD * c * kg_working_unit(h->task, t) * sqrt(vw) < 0.1) {
            scalar *x = kg_alloc((size_t)(m.rows * m.cols) * sizeof *x);
            double *x2 = kg_alloc((size_t)(m.rows * m.cols) * sizeof *x2);
            power_of(&e, k, c * sqrt(norm) / root, c / root, x, x2);
            hold_power(answer, number, a->rows, a->complex ? 2 : 1, x, x2, t, h);
            free(x);
            free(x2);
        }
        kg_eigen_free(&e);
    }
    kg_matrix_free(&m);
}

// ---- large ones -----------------------------------------------------------------------------------------
static double element_of(const kg_matrices *a, int64_t i, int64_t j) {
    return kg_at_offset(&a->v, i * a->row_step + j * a->col_step);
}

// mu^k sum_m binom(k, m) (A / mu - I)^m z, into y.
static void series(const kg_matrices *a, double mu, double k, const double *z, double *y) {
    const int64_t n = a->rows;
    double *m = kg_alloc((size_t)(n * n + 2 * n) * sizeof *m), *p = m + n * n, *q = p + n, factor = pow(mu, k),
           size = 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) m[i * n + j] = element_of(a, i, j) / mu - (i == j);
    for (int64_t i = 0; i < n; i++) {
        p[i] = z[i];
        y[i] = 0;
    }
    for (int term = 0; term < 120 && size > 1e-14; term++) {
        size = 0;
        for (int64_t i = 0; i < n; i++) {
            y[i] += factor * p[i];
            size = fmax(size, fabs(p[i]));
        }
        factor *= (k - term) / (term + 1);
        for (int64_t i = 0; i < n; i++) {
            q[i] = 0;
            for (int64_t j = 0; j < n; j++) q[i] += m[i * n + j] * p[j];
        }
        for (int64_t i = 0; i < n; i++) p[i] = q[i];
    }
    free(m);
}

// The spectrum lies within mu / 2 and 3 mu / 2, where the slope of lambda^k is at most |k| times the greater of two
// powers. E z and dV W z gather n elements each, and a row of X is about as long as mu^k.
static void hold_large(const kg_matrices *a, double k, kg_dtype t, const kg_view *out, kg_holds *h) {
    const int64_t n = a->rows;
    double *z = kg_alloc((size_t)(4 * n) * sizeof *z), *y = z + n, *re = y + n, *im = re + n, mu = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        mu += element_of(a, i, i) / (double)n;
        z[i] = element_of(a, 0, i) > 0 ? 1 : -1;  // as good as random
        for (int64_t j = 0; j < n; j++) norm += pow(element_of(a, i, j), 2);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            re[i] += kg_at(out, 2 * (i * n + j)) * z[j];
            im[i] += kg_at(out, 2 * (i * n + j) + 1) * z[j];
        }
    series(a, mu, k, z, y);
    const double slope = fabs(k) * fmax(pow(mu / 2, k - 1), pow(1.5 * mu, k - 1)), c = kg_svd_error(n);
    const double power = fmax(pow(mu / 2, k), pow(1.5 * mu, k));
    const double local = KG_SPREAD * c * (sqrt(norm) * slope + 2 * power);
    for (int64_t i = 0; i < n; i++) {
        kg_hold(h, t, re[i], y[i], local, 0, "X z[%lld]", (long long)i);
        kg_hold(h, t, im[i], 0, local, 0, "X z[%lld].imag", (long long)i);
    }
    free(z);
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_arg *arg = &call->c->args[A];
    const kg_tensor *out = &call->c->outs[0];
    const double k = call->c->args[EXPONENT].f;
    if (kg_numel(out) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[A], kg_dtype_is_complex(arg->tensor.dtype), 2);
    const bool large = a.rows > SMALL && a.count == 1 && arg->fill.kind == KG_FILL_SYMMETRIC && !a.complex;
    for (int64_t m = 0; !large && m < a.count; m++) hold_elements(&a, m, k, out->dtype, answer, h);
    for (int o = 0; large && o < answer->n; o++) hold_large(&a, k, out->dtype, &answer->out[o], h);
    return 0;
}

// Eigenvalues and vectors (Golub and Van Loan, 7.5.6), 25 n^3, an inverse and two products.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[A].tensor;
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * 25 * (double)a->shape[a->ndim - 1] * (double)kg_numel(a);
}

// dst = x times y, n x n complex numbers.
#define TIMES(dst, x, y)                                                 \
    "    for (int64_t e = 0; e < n * n; e++) {\n"                        \
    "        double re = 0, im = 0;\n"                                   \
    "        for (int64_t j = 0; j < n; j++) {\n"                        \
    "            const double *a = " x " + 2 * (e / n * n + j), *b = " y \
    " + 2 * (j * n + e % n);\n"                                          \
    "            re += a[0] * b[0] - a[1] * b[1];\n"                     \
    "            im += a[0] * b[1] + a[1] * b[0];\n"                     \
    "        }\n"                                                        \
    "        " dst                                                       \
    "[2 * e] = re;\n"                                                    \
    "        " dst                                                       \
    "[2 * e + 1] = im;\n"                                                \
    "    }\n"
// w's right half = the inverse of x.
#define INVERT(x)                                           \
    "    for (int64_t e = 0; e < n * width; e++) {\n"       \
    "        const int64_t r = e / width, c = e % width;\n" \
    "        w[2 * e] = c < n ? " x                         \
    "[2 * (r * n + c)] : r == c - n;\n"                     \
    "        w[2 * e + 1] = c < n ? " x                     \
    "[2 * (r * n + c) + 1] : 0;\n"                          \
    "    }\n" KG_BODY_ELIMINATE "    (void)det_re, (void)det_im;\n"

const kg_task kg_task_kbx_matrix_power_eig = {
    .name = "matrix_power_eig",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "matrix_power_eig(A, k, *, out=None) -> Tensor",
    .summary = "V diag(lambda^k) V^-1 of square matrices, complex, for a real exponent k.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A, k, *, out=None: (lambda l, v: "
                      "torch.matmul(v * (l ** k)[..., None, :], torch.linalg.inv(v), "
                      "out=out))(*torch.linalg.eig(A))",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * kg_dim(A, -1) + (kg_elements(out) == 0))",
    .c_body =
        "// The whole part of |k| by products, the rest by square roots, bit by bit; x: A^(1 / 2^bit), p: the product.\n"
        "const int64_t n = kg_dim(A, -1), width = 2 * n;\n"
        "double whole = floor(fabs(k)), part = fabs(k) - whole;\n"
        "int64_t rest = i, from = 0, to = 0;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    from += rest % A->shape[d] * kg_stride(A, d);\n"
        "    to += rest % A->shape[d] * kg_stride(out, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "double *x = (double *)malloc((size_t)(12 * n * n + 1) * sizeof *x);\n"
        "double *p = x + 2 * n * n, *t = p + 2 * n * n, *m = t + 2 * n * n, *w = m + 2 * n * n;\n"
        "for (int64_t e = 0; e < n * n; e++) {\n"
        "    kg_get_complex_at(A, from + e / n * kg_stride(A, -2) + e % n * kg_stride(A, -1), x + 2 * e, x + 2 * e + 1);\n"
        "    p[2 * e] = e / n == e % n;\n"
        "    p[2 * e + 1] = 0;\n"
        "}\n"
        "for (; whole > 0; whole--) {\n" TIMES("t", "p", "x")
        "    for (int64_t e = 0; e < 2 * n * n; e++) p[e] = t[e];\n"
        "}\n"
        "while (part > 0) {\n"
        "    part *= 2;\n"
        "    // Denman and Beavers: m = x, then x (1 + m^-1) / 2 and (1 + (m + m^-1) / 2) / 2 until m is 1.\n"
        "    for (int64_t e = 0; e < 2 * n * n; e++) m[e] = x[e];\n"
        "    for (int step = 0; step < 16; step++) {\n" INVERT("m")
        "    for (int64_t e = 0; e < 2 * n * n; e++) {\n"
        "        const int64_t r = e / 2 / n, c = e / 2 % n;\n"
        "        const double inverse = w[2 * (r * width + n + c) + e % 2], one = r == c && e % 2 == 0;\n"
        "        t[e] = (one + inverse) / 2;\n"
        "        m[e] = (one + (m[e] + inverse) / 2) / 2;\n"
        "    }\n" TIMES("w", "x", "t")
        "    for (int64_t e = 0; e < 2 * n * n; e++) x[e] = w[e];\n"
        "    }\n"
        "    if (part < 1) continue;\n"
        "    part -= 1;\n" TIMES("t", "p", "x")
        "    for (int64_t e = 0; e < 2 * n * n; e++) p[e] = t[e];\n"
        "}\n"
        "if (k < 0) {\n" INVERT("p")
        "    for (int64_t e = 0; e < 2 * n * n; e++) p[e] = w[2 * (e / 2 / n * width + n + e / 2 % n) + e % 2];\n"
        "}\n"
        "for (int64_t e = 0; e < n * n; e++)\n"
        "    kg_put_complex_at(out, to + e / n * kg_stride(out, -2) + e % n * kg_stride(out, -1), p[2 * e], p[2 * e + 1]);\n"
        "free(x);\n",
};
