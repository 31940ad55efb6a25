// Least squares by QR factorisation: x = R^-1 (Q^H b) of A = Q R, for parameters A (*, m, n), m >= n, of full rank, and
// b (*, m, k), or (*, m): a vector for each matrix.
//
// Bound: reflections give the exact solution for A + dA and b + db whose columns err by c u times their norms (Higham,
// theorem 20.3), and the triangular solve adds running sums of at most n terms: dA_ij of deviation u sqrt(S_ij),
// S_ij = |a_j|^2 + n a_ij^2. With P = A^+, C = (A^T A)^-1 and the residual r, dx = P (db - dA x) + C dA^T r to first
// order (Higham, 20.1). Kernels that go over A^T A square the condition number, which is a few here, and pass as well.
// Kernels that take the pseudoinverse or singular values A = U S V^H leave off-diagonal elements e_k of the bidiagonal
// matrix that are below tol s_k, tol = max(10, min(100, u^-1/8)) u (LAPACK's xBDSQR): 10 u in float32, 99 u in float64.
// P u_k = v_k / s_k, so that they move x by sum_k v_k (e_k / s_k) (v_k+1^H x): tol |x|; twice that is allowed (1.04
// times tol |x| and the rest was seen in 4,000 systems of 9 by 3). The residual, across all u_k, does not count.
// A complex system is seen as the real one of twice the order (oracle/matrices.h).
#ifndef KG_LEAST_SQUARES_H
#define KG_LEAST_SQUARES_H

#include "oracle/matrices.h"

extern const char *const kg_outputs_least_squares[];
// One case; its condition number is a few.
kg_case *kg_least_squares_add(kg_cases *b, kg_tensor a, kg_tensor rhs);
void kg_least_squares_cases(kg_cases *b);             // one real matrix of every kind of shape, and timed ones
void kg_least_squares_some(kg_cases *b, kg_dtype t);  // the five of them that every dtype gets
int kg_least_squares_infer(const kg_task *t, kg_case *c);
int kg_least_squares_holds(const kg_call *call, const kg_answer *answer, kg_holds *h);
void kg_least_squares_work(const kg_task *t, const kg_case *c, kg_work *w);
extern const char kg_least_squares_items[], kg_least_squares_body[];

#define KG_LEAST_SQUARES_TASK                                                                          \
    .suite = "kbx", .outputs = kg_outputs_least_squares, .lowest = KG_PREC_FP32, .held = 1,            \
    .holds = kg_least_squares_holds, .work = kg_least_squares_work, .c_items = kg_least_squares_items, \
    .c_body = kg_least_squares_body

#endif
