// Systems of linear equations: solve, its fused forms, and the inverse, which is the solution for the identity.
#ifndef KG_SOLVES_H
#define KG_SOLVES_H

#include "oracle/matrices.h"
#include "task/families.h"

// ---- inputs -------------------------------------------------------------------------------------------
// A matrix fill of order n for this dtype, with enough on the diagonal for a condition number of a few, and symmetric
// ones positive definite.
kg_fill kg_matrix_fill(kg_fill_kind kind, kg_dtype t, int64_t n);
// A case's `out`, of the shape and dtype that its output has.
void kg_give_out(kg_cases *b, kg_case *c);

// ---- what a system is ---------------------------------------------------------------------------------
typedef enum {
    KG_SYSTEM_WHOLE,         // the matrix as it is
    KG_SYSTEM_UPPER,         // its upper triangle
    KG_SYSTEM_LOWER_FACTOR,  // L L^H, of its lower triangle
    KG_SYSTEM_UPPER_FACTOR   // U^H U, of its upper triangle
} kg_system_kind;

typedef struct {
    int a, b;      // arguments; b: -1 for the identity
    bool vectors;  // torch.linalg.solve's rule: b of one dimension, or of A's without the last, is a batch of vectors
    bool pivot;    // whether the elimination that bounds the error pivots
    bool right;    // X A = B
    kg_system_kind kind;
} kg_systems;

int kg_systems_infer(kg_case *c, const kg_systems *s);
// Every element of the solution for orders up to 192. Beyond, A X w = B w for random signs w in each row, by the
// residual that backward stable methods leave; the matrices are such that a small residual means a small error.
int kg_systems_hold(const kg_call *call, const kg_answer *a, kg_holds *h, const kg_systems *s);
// F F^T z = A z (F^T F z for an upper factor) for random signs z, F being matrix `number` of an answer.
void kg_hold_gram(kg_holds *h, kg_dtype t, const kg_matrices *a, const kg_matrices *factor, int64_t number,
                  kg_system_kind kind);
// 2/3 n^3 for an elimination, a half of it where it is symmetric, none where only triangles are solved; 2 n^2 a column.
void kg_systems_work(const kg_task *t, const kg_case *c, kg_work *w, const kg_systems *s, double cubic);

// infer, holds and work of a task whose cases are all of one system.
#define KG_SYSTEMS_FUNCTIONS(systems, cubic)                                 \
    static int infer(const kg_task *t, kg_case *c) {                         \
        (void)t;                                                             \
        return kg_systems_infer(c, &(systems));                              \
    }                                                                        \
    static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) { \
        return kg_systems_hold(call, a, h, &(systems));                      \
    }                                                                        \
    static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_systems_work(t, c, w, &(systems), cubic); }

// ---- cases --------------------------------------------------------------------------------------------
typedef struct {
    const char *a, *b;            // parameters; b: NULL for none
    const kg_fill_kind *kinds;    // of matrices, real ones; taken in turn
    const kg_fill_kind *complex;  // the same; NULL: no complex cases
    int n_kinds;
    bool vectors, batches;  // as the task allows them
} kg_system_family;
// k columns; 0: a vector.
kg_case *kg_system_add(kg_cases *b, const kg_system_family *f, kg_fill_kind kind, kg_dtype t, int n_batch,
                       const int64_t *batch, int64_t n, int64_t k);
void kg_system_cases(kg_cases *b, const kg_system_family *f);  // quick and full
// Timed: one matrix of these orders, f32; on the CPU up to `cpu_most`.
void kg_system_timed(kg_cases *b, const kg_system_family *f, const int64_t *orders, int64_t cpu_most, int64_t k);

// ---- skeletons ----------------------------------------------------------------------------------------
// C text for c_body: item i is the system of matrix i of the batch. `a`, `b`: the parameters' names (of an inverse: a
// itself twice). setup: statements that may swap the strides ar, ac of a, br, bc of b and orr, oc of out, and say `k`.
// element, side: set re, im for row r, column c of the matrix and of the right side, at_a and at_b being where those of
// this item start.
#define KG_BODY_SYSTEM(a, b, vector, setup, element, side)                                                     \
    "const bool vector = " vector                                                                              \
    ";\n"                                                                                                      \
    "const int own = vector ? 1 : 2;\n"                                                                        \
    "const int64_t n = kg_dim(" a                                                                              \
    ", -1);\n"                                                                                                 \
    "int64_t k = vector ? 1 : kg_dim(" b                                                                       \
    ", -1);\n"                                                                                                 \
    "int64_t ar = kg_stride(" a ", -2), ac = kg_stride(" a                                                     \
    ", -1);\n"                                                                                                 \
    "int64_t br = kg_stride(" b ", -own), bc = vector ? 0 : kg_stride(" b                                      \
    ", -1);\n"                                                                                                 \
    "int64_t xr = kg_stride(out, -own), xc = vector ? 0 : kg_stride(out, -1);\n" setup                         \
    "int64_t rest = i, at_a = 0, at_b = 0, at_x = 0;\n"                                                        \
    "for (int d = out->ndim - own - 1, da = " a "->ndim - 3, db = " b                                          \
    "->ndim - own - 1; d >= 0; d--, da--, db--) {\n"                                                           \
    "    const int64_t x = rest % out->shape[d];\n"                                                            \
    "    rest /= out->shape[d];\n"                                                                             \
    "    at_x += x * kg_stride(out, d);\n"                                                                     \
    "    if (da >= 0 && " a "->shape[da] != 1) at_a += x * kg_stride(" a                                       \
    ", da);\n"                                                                                                 \
    "    if (db >= 0 && " b "->shape[db] != 1) at_b += x * kg_stride(" b                                       \
    ", db);\n"                                                                                                 \
    "}\n"                                                                                                      \
    "const int64_t width = n + k;\n"                                                                           \
    "double re, im, *w = (double *)malloc((size_t)(2 * n * width + 1) * sizeof *w);\n"                         \
    "for (int64_t r = 0; r < n; r++)\n"                                                                        \
    "    for (int64_t j = 0; j < width; j++) {\n"                                                              \
    "        const int64_t c = j < n ? j : j - n;\n"                                                           \
    "        if (j < n) {\n" element "        } else {\n" side                                                 \
    "        }\n"                                                                                              \
    "        w[2 * (r * width + j)] = re;\n"                                                                   \
    "        w[2 * (r * width + j) + 1] = im;\n"                                                               \
    "    }\n" KG_BODY_ELIMINATE                                                                                \
    "for (int64_t r = 0; r < n; r++)\n"                                                                        \
    "    for (int64_t c = 0; c < k; c++) {\n"                                                                  \
    "        const double *x = w + 2 * (r * width + n + c);\n"                                                 \
    "        if (out->dtype.code == kDLComplex) kg_put_complex_at(out, at_x + r * xr + c * xc, x[0], x[1]);\n" \
    "        else kg_put_at(out, at_x + r * xr + c * xc, x[0]);\n"                                             \
    "    }\n"                                                                                                  \
    "free(w);\n"
#define KG_BODY_ELEMENT(a) "            kg_get_complex_at(" a ", at_a + r * ar + c * ac, &re, &im);\n"
#define KG_BODY_SIDE(b)    "            kg_get_complex_at(" b ", at_b + r * br + c * bc, &re, &im);\n"
// Whether b is a vector, by torch.linalg.solve's rule, for c_body and c_items.
#define KG_BODY_VECTOR(a, b)                                                                                           \
    "(" b "->ndim == 1 || (" b "->ndim == " a "->ndim - 1 && kg_elements(" b ") * kg_dim(" a ", -1) == kg_elements(" a \
    ") && kg_dim(" b ", -1) == kg_dim(" a ", -1)))"

// Gauss and Jordan's elimination with pivoting of w, n rows of `width` complex numbers: leaves the solution behind the
// first n columns, and the determinant in det_re, det_im.
#define KG_BODY_ELIMINATE                                                                                        \
    "double det_re = 1, det_im = 0;\n"                                                                           \
    "for (int64_t c = 0; c < n; c++) {\n"                                                                        \
    "    int64_t p = c;\n"                                                                                       \
    "    for (int64_t r = c + 1; r < n; r++)\n"                                                                  \
    "        if (hypot(w[2 * (r * width + c)], w[2 * (r * width + c) + 1]) >\n"                                  \
    "            hypot(w[2 * (p * width + c)], w[2 * (p * width + c) + 1]))\n"                                   \
    "            p = r;\n"                                                                                       \
    "    for (int64_t j = 0; p != c && j < 2 * width; j++) {\n"                                                  \
    "        const double t = w[2 * c * width + j];\n"                                                           \
    "        w[2 * c * width + j] = w[2 * p * width + j];\n"                                                     \
    "        w[2 * p * width + j] = t;\n"                                                                        \
    "    }\n"                                                                                                    \
    "    const double re = w[2 * (c * width + c)], im = w[2 * (c * width + c) + 1], size = re * re + im * im;\n" \
    "    const double d = p == c ? det_re : -det_re, e = p == c ? det_im : -det_im;\n"                           \
    "    det_re = d * re - e * im;\n"                                                                            \
    "    det_im = d * im + e * re;\n"                                                                            \
    "    if (size == 0) break;\n"                                                                                \
    "    for (int64_t j = c; j < width; j++) {\n"                                                                \
    "        double *x = w + 2 * (c * width + j);\n"                                                             \
    "        const double a = x[0], b = x[1];\n"                                                                 \
    "        x[0] = (a * re + b * im) / size;\n"                                                                 \
    "        x[1] = (b * re - a * im) / size;\n"                                                                 \
    "    }\n"                                                                                                    \
    "    for (int64_t r = 0; r < n; r++) {\n"                                                                    \
    "        const double fr = w[2 * (r * width + c)], fi = w[2 * (r * width + c) + 1];\n"                       \
    "        for (int64_t j = c; r != c && j < width; j++) {\n"                                                  \
    "            const double *x = w + 2 * (c * width + j);\n"                                                   \
    "            w[2 * (r * width + j)] -= fr * x[0] - fi * x[1];\n"                                             \
    "            w[2 * (r * width + j) + 1] -= fr * x[1] + fi * x[0];\n"                                         \
    "        }\n"                                                                                                \
    "    }\n"                                                                                                    \
    "}\n"

#endif
