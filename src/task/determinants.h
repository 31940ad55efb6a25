// Determinants of (*, n, n) matrices: det and its forms by LU and QR factorisation.
//
// Bound (src/oracle/matrices.h): d det = det tr(A^-1 dA) for the backward error dA of elimination or of reflections,
// and a rounding for each pivot in their product; near singularity the bound of Ipsen and Rehman. Where n is 0 it is 1.
//
// The order of large timed matrices leaves no time for an elimination in the judge. They are d on the diagonal plus
// u v^T (KG_FILL_RANK_ONE), of determinant prod(d) (1 + sum u_i v_i / d_i), where u_i v_i is told by the other
// elements: a_ij a_ki / a_kj, in float32 (the elements are rounded).
#ifndef KG_DETERMINANTS_H
#define KG_DETERMINANTS_H

#include "task/solves.h"

extern const char *const kg_outputs_det[];  // "out"
kg_case *kg_det_add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int n_batch, const int64_t *batch, int64_t n);
void kg_det_cases(kg_cases *b);                // quick and full
void kg_det_timed(kg_cases *b, int64_t most);  // 16 to `most` by two, on the CPU to 256
int kg_det_infer(const kg_task *t, kg_case *c);
int kg_det_holds(const kg_call *call, const kg_answer *a, kg_holds *h);
void kg_det_work(const kg_task *t, const kg_case *c, kg_work *w);  // 2/3 n^3
extern const char kg_det_items[], kg_det_body[];

#endif
