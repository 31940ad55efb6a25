// alpha * (A @ B) + beta * C, a row at a time with what each element may err by: what the products of this shape that
// are reduced or multiplied once more are composed of.
#ifndef KG_UPDATES_H
#define KG_UPDATES_H

#include "task/products.h"

typedef struct {
    kg_view a, b, c;  // (n, m), (m, p), (n, p)
    double alpha, beta;
} kg_update;

// One row of p elements; owned. value = product + beta * c; local and acc as a kg_ref's.
typedef struct {
    int64_t *index;
    double *value, *local, *acc, *product;
} kg_update_row;

// The views of a matrix turned, and of a vector as a row.
kg_view kg_turned(const kg_view *v);
kg_view kg_as_row(const kg_view *v);

int kg_update_row_make(kg_update_row *r, int64_t p);  // -1: no memory
void kg_update_row_free(kg_update_row *r);
void kg_update_row_of(const kg_update *u, int64_t row, kg_update_row *r);

// g[k] = alpha * sum_j b[k][j] weight[j], m of them. A weighted sum of a row's elements moves by sum_k a[k] g[k] d_k
// when the row's left factors are rounded, each by d_k: one cause that all elements of the row share.
void kg_update_weigh(const kg_update *u, const double *weight, double *g);
double kg_update_shared2(const kg_update *u, int64_t row, const double *g);  // sum of (a[k] g[k])^2

// ref[k] = a sum whose terms have the errors in `sum`, whose left factors move it by `shared2` (squared), and of whose
// value `product` scales with truncated factors. acc2: squared accumulation errors of the terms.
void kg_update_put(kg_ref *ref, size_t k, bool half, const kg_sum_t *sum, double shared2, double product, double acc2);

#endif
