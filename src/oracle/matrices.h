// Dense matrices of a call: systems of equations, inverses, determinants, Cholesky factors, singular values and
// eigenvalues, with what an honest kernel may err by in them.
//
// Elimination is done here in long double, which GSL does not have and float64 cases need; singular values and
// eigenvalues are GSL's. A complex matrix is seen as a real one of twice the order, each element a block
// [[re, -im], [im, re]]: products, inverses, solutions, Cholesky factors and functions of it are those of the complex
// matrix in the same form, and only determinants are not.
//
// Errors. Elimination gives the exact answer for A + dA, where dA_ij is what the running sums a_ij - sum_k l_ik u_kj
// were rounded by (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.3). Roundings are taken
// as independent (Higham and Mary, SISC 41, 2019), so that dA_ij has the deviation u sqrt(S_ij), S_ij the sum of the
// squares of those running sums and of the products subtracted; methods that rotate or reflect columns err by their
// norms (theorem 19.4), which S has too. First order perturbation theory takes dA to the answer, and KG_SPREAD such
// deviations are the bound. Where the perturbation is so large that the first order says little
// (kg_lu_certain), nothing is claimed.
#ifndef KG_MATRICES_H
#define KG_MATRICES_H

#include "oracle/holds.h"
#include "oracle/oracle.h"

#define KG_SPREAD 8.0  // deviations that the bound allows, as kg_sum_acc does

// ---- matrices -----------------------------------------------------------------------------------------
typedef struct {
    int64_t rows, cols;
    long double *at;  // row-major; from kg_alloc, so small ones only: freed by kg_matrix_free
} kg_matrix;
#define KG_AT(m, i, j) ((m)->at[(i) * (m)->cols + (j)])

kg_matrix kg_matrix_make(int64_t rows, int64_t cols);  // zeros
void kg_matrix_free(kg_matrix *m);
bool kg_matrix_has_nan(const kg_matrix *m);

// A batch of matrices as a view of a call has it. own: its last dimensions, 2 for a matrix and 1 for a vector (a
// column), without that of complex parts.
typedef struct {
    kg_view v;
    bool complex;
    int64_t rows, cols, count;
    int64_t row_step, col_step;
    int n_batch;
    int64_t batch[KG_MAX_NDIM], batch_step[KG_MAX_NDIM];
} kg_matrices;
kg_matrices kg_matrices_of(const kg_view *v, bool complex, int own);
// The same, broadcast to the batch dimensions of `like` (of which `like_own` are its own).
kg_matrices kg_matrices_like(const kg_view *v, bool complex, int own, const kg_tensor *like, int like_own);
int64_t kg_matrices_start(const kg_matrices *b, int64_t number);            // storage offset of matrix `number`
kg_matrix kg_matrix_load(const kg_matrices *b, int64_t number);             // as the real matrix described above
kg_matrix kg_matrix_load_transposed(const kg_matrices *b, int64_t number);  // not conjugated
kg_matrix kg_matrix_product(const kg_matrix *a, const kg_matrix *b);
kg_matrix kg_matrix_adjoint(const kg_matrix *a);  // of the real matrix: the conjugate transpose of the complex one
// 0 above (lower) or below the diagonal of blocks of `size`.
void kg_matrix_keep_triangle(kg_matrix *m, bool lower, int size);

// ---- elimination --------------------------------------------------------------------------------------
typedef struct {
    int64_t n;
    kg_matrix lu;   // L below the diagonal, U from it on
    int64_t *row;   // row k of it is row[k] of A
    int sign;       // of that permutation
    bool singular;  // an exact zero for a pivot: no inverse
    kg_matrix inverse;
    kg_matrix spread;  // S, its rows as lu's
    double condition;  // ||inverse||_F ||sqrt(S)||_F
} kg_lu;
kg_lu kg_lu_of(const kg_matrix *a, bool pivot);
void kg_lu_free(kg_lu *f);
kg_matrix kg_lu_solve(const kg_lu *f, const kg_matrix *b);
// The first order says enough at unit roundoff u; what it leaves out is at most the factor *scale.
bool kg_lu_certain(const kg_lu *f, double u, double *scale);
// error of x, column j of the solution for column j of b, in units of u: n of them, a deviation (without KG_SPREAD).
void kg_lu_error(const kg_lu *f, const kg_matrix *x, const kg_matrix *b, int64_t j, double *error);

// Lower triangular factor, and the deviation of each element's error. false: not positive definite.
bool kg_cholesky_of(const kg_matrix *a, kg_matrix *factor, kg_matrix *error);

// Determinant of the matrix itself (complex or not), and the deviation of its error; infinite where nothing can be
// said. NaN where an element is: elimination and reflections carry it into the last pivot.
typedef struct {
    double re, im, error;
} kg_determinant;
kg_determinant kg_determinant_of(const kg_matrices *b, int64_t number, bool pivot, double u);

// ---- by GSL -------------------------------------------------------------------------------------------
// a = u diag(s) v^T with u of a's shape and v square, for rows >= cols; s descending.
typedef struct {
    int64_t rows, cols;
    double *u, *s, *v;  // owned
} kg_svd;
int kg_svd_of(const kg_matrix *a, kg_svd *out);  // -1: GSL did not converge
void kg_svd_free(kg_svd *d);

// a = v diag(value) w, w = v^-1; complex numbers as pairs. Owned.
typedef struct {
    int64_t n;
    double *value, *v, *w;
} kg_eigen;
int kg_eigen_of(const kg_matrix *a, kg_eigen *out);  // -1: GSL did not converge, or v is singular
void kg_eigen_free(kg_eigen *e);

// Something that the largest singular value is not above, nor much below: the Frobenius norm, or that of the largest
// row sum and column sum.
double kg_matrix_norm_bound(const kg_matrix *a);

// ---- judging a matrix -----------------------------------------------------------------------------------
// Matrix `number` of the answer's output `out` against value (in the real form), each element within
// u (KG_SPREAD error + |value|) of the dtype t. Only the first of each pair of columns counts where it is complex.
void kg_hold_matrix(kg_holds *h, kg_dtype t, const kg_view *out, bool complex, int64_t number, const kg_matrix *value,
                    const kg_matrix *error, const char *name);
double kg_working_unit(const kg_task *t, kg_dtype d);  // u of the rung that results of this dtype must reach

#endif
