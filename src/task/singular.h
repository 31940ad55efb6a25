// Functions of singular values: U diag(f) V^H of A = U diag(s) V^H, for low rank approximations and pseudoinverses.
//
// Bound. A backward stable decomposition is that of A + E, E of deviation u s_1 kg_svd_error() in each element, its
// roundings taken as independent (Higham, Accuracy and Stability, 19.3 and lemma 19.9): Jacobi's method turns each
// column some 8 n times, each time rounding its elements and its norm; two sided reflections and the rotations that
// follow touch each element some 4 n times at a size of about s_1 / sqrt(n). Measured: 1 to 3 u s_1 in mean square by
// LAPACK at orders 2 to 300, and twice that by Jacobi's method at 128. cuSOLVER's Jacobi (torch.linalg.svd on an H200)
// stops earlier: 1.22 times (3 + sqrt n) with outliers in a matrix of order 20, so twice that is allowed. Through E,
// with E' = U^H E V,
//     (dG)'_kl = a (E'_kl + E'_lk^*) / 2 + b (E'_kl - E'_lk^*) / 2,
//     a = (f_k - f_l) / (s_k - s_l), b = (f_k + f_l) / (s_k + s_l),
// and f_l / s_l for rows beyond the columns (Noferini, "A formula for the Frechet derivative of a generalized matrix
// function", SIMAX 38, 2017). Where a cut lies so near a singular value that rounding may move it over, nothing is
// claimed. The values themselves are GSL's, which err alike: float64 cases get twice the bound.
#ifndef KG_SINGULAR_H
#define KG_SINGULAR_H

#include "task/solves.h"

static inline double kg_svd_error(int64_t n) { return 2 * (3 + sqrt((double)n)); }  // n: the lesser dimension

typedef struct {
    bool inverse;  // f = 1 / s, and the result is its adjoint; else f = s
    int64_t keep;  // the largest singular values, counted as the matrix's own; -1: those above
    double above;  // times the largest
} kg_spectrum;

// Elements of the answer's matrix `number` against f of it.
void kg_hold_spectrum(kg_holds *h, kg_dtype t, const kg_answer *answer, const kg_matrices *a, int64_t number,
                      const kg_spectrum *s);
// The largest singular value, or a little more.
double kg_largest_singular(const kg_matrices *a, int64_t number);

kg_case *kg_singular_add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int n_batch, const int64_t *batch, int64_t m,
                         int64_t n);

// C text for c_body: w (p rows of q complex numbers, p >= q) becomes w v with orthogonal columns, v unitary (q x q), by
// one-sided Jacobi; `wide` says that w was loaded as A^H. A is the parameter's name. Batch i of the result. Then
// sums over columns: KG_BODY_JACOBI_PUT.
#define KG_BODY_JACOBI(a)                                                                                    \
    "const int64_t m = kg_dim(" a ", -2), n = kg_dim(" a                                                     \
    ", -1), p = m > n ? m : n, q = m > n ? n : m;\n"                                                         \
    "const bool wide = m < n;\n"                                                                             \
    "int64_t rest = i, from = 0, to = 0;\n"                                                                  \
    "for (int d = " a                                                                                        \
    "->ndim - 3; d >= 0; d--) {\n"                                                                           \
    "    from += rest % " a "->shape[d] * kg_stride(" a                                                      \
    ", d);\n"                                                                                                \
    "    to += rest % " a                                                                                    \
    "->shape[d] * kg_stride(out, d);\n"                                                                      \
    "    rest /= " a                                                                                         \
    "->shape[d];\n"                                                                                          \
    "}\n"                                                                                                    \
    "double *w = (double *)malloc((size_t)(2 * p * q + 2 * q * q + q + 1) * sizeof *w);\n"                   \
    "double *v = w + 2 * p * q, *square = v + 2 * q * q;\n"                                                  \
    "for (int64_t r = 0; r < p; r++)\n"                                                                      \
    "    for (int64_t c = 0; c < q; c++) {\n"                                                                \
    "        double *x = w + 2 * (r * q + c);\n"                                                             \
    "        const int64_t y = wide ? c : r, z = wide ? r : c;\n"                                            \
    "        kg_get_complex_at(" a ", from + y * kg_stride(" a ", -2) + z * kg_stride(" a                    \
    ", -1), x, x + 1);\n"                                                                                    \
    "        if (wide) x[1] = -x[1];\n"                                                                      \
    "    }\n"                                                                                                \
    "for (int64_t k = 0; k < q * q; k++) v[2 * k] = k / q == k % q, v[2 * k + 1] = 0;\n"                     \
    "for (int sweep = 0, turned = 1; sweep < 40 && turned; sweep++) {\n"                                     \
    "    turned = 0;\n"                                                                                      \
    "    for (int64_t k = 0; k < q * q; k++) {\n"                                                            \
    "        const int64_t c = k / q, d = k % q;\n"                                                          \
    "        double alpha = 0, beta = 0, gr = 0, gi = 0;\n"                                                  \
    "        for (int64_t r = 0; r < p && c < d; r++) {\n"                                                   \
    "            const double *x = w + 2 * (r * q + c), *y = w + 2 * (r * q + d);\n"                         \
    "            alpha += x[0] * x[0] + x[1] * x[1];\n"                                                      \
    "            beta += y[0] * y[0] + y[1] * y[1];\n"                                                       \
    "            gr += x[0] * y[0] + x[1] * y[1];\n"                                                         \
    "            gi += x[0] * y[1] - x[1] * y[0];\n"                                                         \
    "        }\n"                                                                                            \
    "        const double gamma = hypot(gr, gi);\n"                                                          \
    "        if (c >= d || gamma <= 1e-15 * sqrt(alpha * beta) || gamma < 1e-280) continue;\n"               \
    "        turned = 1;\n"                                                                                  \
    "        const double zeta = (beta - alpha) / (2 * gamma);\n"                                            \
    "        const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));\n"                 \
    "        const double co = 1 / sqrt(1 + t * t), si = co * t;\n"                                          \
    "        for (int64_t r = 0; r < p + q; r++) {\n"                                                        \
    "            double *x = (r < p ? w + 2 * r * q : v + 2 * (r - p) * q) + 2 * c, *y = x + 2 * (d - c);\n" \
    "            const double yr = (y[0] * gr + y[1] * gi) / gamma, yi = (y[1] * gr - y[0] * gi) / gamma;\n" \
    "            const double xr = x[0], xi = x[1];\n"                                                       \
    "            x[0] = co * xr - si * yr, x[1] = co * xi - si * yi;\n"                                      \
    "            y[0] = si * xr + co * yr, y[1] = si * xi + co * yi;\n"                                      \
    "        }\n"                                                                                            \
    "    }\n"                                                                                                \
    "}\n"                                                                                                    \
    "for (int64_t c = 0; c < q; c++) {\n"                                                                    \
    "    square[c] = 0;\n"                                                                                   \
    "    for (int64_t r = 0; r < p; r++) {\n"                                                                \
    "        const double *x = w + 2 * (r * q + c);\n"                                                       \
    "        square[c] += x[0] * x[0] + x[1] * x[1];\n"                                                      \
    "    }\n"                                                                                                \
    "}\n"
// `factor` is an expression in j, a column. left: the sum of factor w_j v_j^H is A-shaped (or its adjoint where wide).
#define KG_BODY_JACOBI_PUT(adjoint, factor)                                                         \
    "const bool turn = wide != " adjoint                                                            \
    ";  // the result is the adjoint of the sum of factors w_j v_j^H\n"                             \
    "for (int64_t r = 0; r < p; r++)\n"                                                             \
    "    for (int64_t c = 0; c < q; c++) {\n"                                                       \
    "        double re = 0, im = 0;\n"                                                              \
    "        for (int64_t j = 0; j < q; j++) {\n"                                                   \
    "            const double f = " factor                                                          \
    ", *x = w + 2 * (r * q + j), *y = v + 2 * (c * q + j);\n"                                       \
    "            re += f * (x[0] * y[0] + x[1] * y[1]);\n"                                          \
    "            im += f * (x[1] * y[0] - x[0] * y[1]);\n"                                          \
    "        }\n"                                                                                   \
    "        const int64_t y = turn ? c : r, z = turn ? r : c;\n"                                   \
    "        const int64_t at = to + y * kg_stride(out, -2) + z * kg_stride(out, -1);\n"            \
    "        if (out->dtype.code == kDLComplex) kg_put_complex_at(out, at, re, turn ? -im : im);\n" \
    "        else kg_put_at(out, at, re);\n"                                                        \
    "    }\n"                                                                                       \
    "free(w);\n"

#endif
