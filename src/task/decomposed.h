// Tasks that take a matrix apart: qr, lu, svd, ldl_factor, eig. Their cases, and what a kernel needs at least.
#ifndef KG_DECOMPOSED_H
#define KG_DECOMPOSED_H

#include "oracle/decompositions.h"
#include "task/families.h"

// Columns that differ from one another by a thousandth: condition 10^3 to 10^4.
#define KG_NEARLY_DEPENDENT KG_NORMAL(1000, 1)

// The parameter A, which is a task's first.
kg_case *kg_decomposed_case(kg_cases *b, kg_tensor a, kg_fill fill);
// m x n matrices of every kind, quick or full, every other argument absent.
void kg_decomposed_cases(kg_cases *b);
// n x n in float32, one case a size.
void kg_decomposed_timed(kg_cases *b, int n, const int64_t *sizes);
// A's matrices in shape (..., rows, cols); a contiguous tensor of dtype t.
kg_tensor kg_decomposed_shape(const kg_tensor *a, kg_dtype t, int64_t rows, int64_t cols);
// The last two dimensions of a case's A; -1: it has less than two.
int kg_decomposed_size(const kg_case *c, int64_t *m, int64_t *n);

// Multiplications of an elimination of min(m, n) columns from an m x n matrix.
double kg_elimination(double m, double n);
// Compulsory bytes, and `madds` multiplications and additions for each of A's matrices.
void kg_decomposed_work(const kg_task *t, const kg_case *c, kg_work *w, double madds);

#endif
