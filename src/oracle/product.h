// Products: dot products of many outputs at once, with their error analysis (product.c says how).
#ifndef KG_PRODUCT_H
#define KG_PRODUCT_H

#include "oracle/oracle.h"

#define KG_LANES 8    // outputs computed together: those that share their left factors
#define KG_TILE  256  // terms packed at a time

// KG_LANES dot products, sum over k of a[k] * b[k][lane].
typedef struct {
    bool exact;  // compensated, for float64 inputs
    bool half;   // inputs are half precision: products of them are exact in float32
    int64_t n;
    double s[KG_LANES], lo[KG_LANES];
    double q[KG_LANES];        // sum of squared terms so far
    double partial[KG_LANES];  // sum over k of s_k^2 + q_k
    double path[KG_LANES];     // sum over k of |s_k|
    double largest[KG_LANES];  // largest squared term
} kg_lanes;

kg_lanes kg_lanes_start(kg_dtype inputs);
// n more terms: a[n], b[n][KG_LANES].
void kg_lanes_add(kg_lanes *l, const double *a, const double (*b)[KG_LANES], int64_t n);
double kg_lanes_value(const kg_lanes *l, int lane);
double kg_lanes_local(const kg_lanes *l, int lane);
double kg_lanes_acc(const kg_lanes *l, int lane);

// What acc grows by where n products may be summed on top of `start` (a bias, an addend) instead of before it: each
// partial sum is that much larger, 8 sqrt(n start^2), and so is what matrix units truncate.
static inline double kg_start_acc(double start, int64_t n) {
    return fabs(start) * (1 + 8 * sqrt((double)n) + (double)n / 8);
}

// n elements of v from storage offset `at`, `step` apart, as doubles `to_step` apart.
void kg_load_line(const kg_view *v, int64_t at, int64_t step, int64_t n, double *to, int64_t to_step);

// torch.matmul's shapes. 0, or -1 when the operands do not fit.
int kg_matmul_shape(const kg_tensor *a, const kg_tensor *b, kg_tensor *out);
// Where the row of the left and the column of the right operand of one output start, and how they step.
typedef struct {
    int64_t a, a_step, b, b_step, k, column_step;  // column_step: from one output column to the next, in b
    int64_t columns;                               // outputs from this one to the end of its row
} kg_matmul_at;
kg_matmul_at kg_matmul_locate(const kg_tensor *a, const kg_tensor *b, const kg_tensor *out, int64_t logical);
// ref's values, locals and accs for out = a matmul b.
void kg_matmul_ref(const kg_view *a, const kg_view *b, const kg_tensor *out, kg_ref *ref);

// Unit that does products of this dtype best: the matrix units where there are any.
kg_unit kg_product_unit(kg_dtype t);

#endif
