// What must hold of a decomposition's factors, whatever signs, phases or orders a kernel chooses: the residual, the
// factors' shape, their orthogonality (decompositions.c says where the bounds come from).
#ifndef KG_DECOMPOSITIONS_H
#define KG_DECOMPOSITIONS_H

#include <complex.h>

#include "oracle/holds.h"
#include "oracle/oracle.h"

typedef double complex kg_complex;

// ---- one matrix of a batch ----------------------------------------------------------------------------
// Read through its view, a complex one by its parts. Steps and `at` count the view's numbers.
typedef struct {
    const kg_view *v;
    kg_dtype part;  // float32 or float64
    bool is_complex, conjugate;
    int64_t rows, cols, at, row_step, col_step;
} kg_factor;
int64_t kg_factor_count(const kg_tensor *t);  // matrices in a tensor (not of its parts)
// Matrix `which` of a view whose tensor is `desc`.
kg_factor kg_factor_of(const kg_view *v, const kg_tensor *desc, int64_t which);
kg_factor kg_factor_adjoint(const kg_factor *m);
static inline kg_complex kg_factor_get(const kg_factor *m, int64_t i, int64_t j) {
    const int64_t at = m->at + i * m->row_step + j * m->col_step;
    const double re = kg_at_offset(m->v, at), im = m->is_complex ? kg_at_offset(m->v, at + 1) : 0;
    return re + I * (m->conjugate ? -im : im);
}
double kg_factor_norm(const kg_factor *m);  // Frobenius's
bool kg_factor_has_nan(const kg_factor *m);
// The largest singular value, from below, by the power method: within a tenth where it matters.
double kg_factor_norm2(const kg_factor *m);

// ---- products with a panel of vectors ------------------------------------------------------------------
// n x s numbers, row by row.
typedef struct {
    int64_t n, s;
    kg_complex *x;  // owned
} kg_panel;
int kg_panel_make(kg_panel *p, int64_t n, int64_t s);  // zeros; -1: no memory
void kg_panel_free(kg_panel *p);
// m times x, a new panel; -1: no memory.
int kg_panel_times(const kg_factor *m, const kg_panel *x, kg_panel *y);
// Two factors: a (b x).
int kg_panel_times2(const kg_factor *a, const kg_factor *b, const kg_panel *x, kg_panel *y);
void kg_panel_subtract(kg_panel *y, const kg_panel *from);  // y = from - y

// Columns of n x n to look through an error matrix with: E X instead of E. Column c of X holds +-1 in rows c, c + s,
// c + 2 s, ...; where n is small s is n and E's own columns are seen. Else Freivalds' method: the signs follow from a
// hash of the answer, so that nobody can choose an answer to fit the signs, and a verdict can be repeated.
typedef struct {
    kg_panel x;
    int64_t group;  // columns together
} kg_sketch;
int kg_sketch_make(kg_sketch *k, int64_t n, int64_t rows, const kg_answer *a);  // rows: of the matrix looked at

// ---- what must hold ---------------------------------------------------------------------------------------
// 8 (1 + sqrt(m) + sqrt(n)): what orthogonal transformations of m x n matrices err by, in units of u.
double kg_orthogonal_growth(int64_t m, int64_t n);
// q's columns are orthonormal, each to growth u.
int kg_hold_orthonormal(kg_holds *h, const kg_answer *a, const kg_factor *q, double growth, const char *name);
// Exact zeros below the diagonal (upper) or above it.
void kg_hold_triangle(kg_holds *h, const kg_factor *m, bool upper, const char *name);
// Column c of the error E X is at most growth u size[c] long.
void kg_hold_columns(kg_holds *h, kg_dtype part, const kg_panel *error, int64_t group, double growth,
                     const double *size, const char *name);

#endif
