// Reductions over any dimensions, fast enough for a hundred million elements: walking, sums and spreads with their
// error analysis.
#ifndef KG_REDUCE_H
#define KG_REDUCE_H

#include "oracle/oracle.h"

// ---- which elements ---------------------------------------------------------------------------------
// Bit d of a mask: dimension d is reduced. A KG_P_INTS argument as one: None and () mean all. -1: not a legal choice.
int kg_reduced_dims(const kg_arg *dims, int ndim);
// Shape of the result; dtype is as given.
kg_tensor kg_reduced_shape(const kg_tensor *t, int mask, bool keepdim, kg_dtype dtype);

// A tensor seen as `lines` groups of `count` elements each: those that are reduced together, both in row-major order.
typedef struct {
    int n_in, n_out;
    int64_t in_shape[KG_MAX_NDIM], in_stride[KG_MAX_NDIM];    // of the reduced dimensions; merged where they can be
    int64_t out_shape[KG_MAX_NDIM], out_stride[KG_MAX_NDIM];  // of the kept ones
    int64_t count, lines;
} kg_groups;
kg_groups kg_groups_of(const kg_tensor *t, int mask);
int64_t kg_group_start(const kg_groups *g, int64_t line);  // storage offset of a group's first element
// Calls f on the elements of one group in order, some at a time, as doubles.
typedef void (*kg_chunk_fn)(const double *x, int64_t n, void *ctx);
void kg_group_each(const kg_view *v, const kg_groups *g, int64_t line, kg_chunk_fn f, void *ctx);
// The same where one NaN decides what becomes of a group: f sees it alone if it is the last element. Cases of 2^31
// elements have it there (src/task/large_cases.c), so that their answer takes no minutes.
void kg_group_fold(const kg_view *v, const kg_groups *g, int64_t line, kg_chunk_fn f, void *ctx);

// ---- sums -------------------------------------------------------------------------------------------
// As kg_sum_t, many terms at a time; compensated only for float64 inputs: sums of float32 in fp64 err by nothing that a
// float32 result could show.
typedef struct {
    bool exact;
    double s, lo, square, partial, largest;
    kg_serial serial;
    int64_t n;
} kg_total;
void kg_total_add(kg_total *t, const double *x, int64_t n);
double kg_total_value(const kg_total *t);
double kg_total_acc(const kg_total *t);    // units of u_acc; see sum.c
double kg_total_local(const kg_total *t);  // units of u: rounding every term
kg_total kg_group_total(const kg_view *v, const kg_groups *g, int64_t line, bool exact);

// ---- mean and spread --------------------------------------------------------------------------------
// As moments.c explains, for two-pass and Welford kernels; errors in units of u_acc.
typedef struct {
    int64_t n;
    double mean, mean_acc;  // with the rounding of the mean itself
    double m2, m2_acc;      // sum of squared deviations; without what the mean's error adds
    double rounding;        // sqrt(sum d^2 (|mean| + |d|)^2): m2 moves by twice this u when inputs are rounded to u
    double u;               // unit roundoff of the accumulation
} kg_spread;
kg_spread kg_group_spread(const kg_view *v, const kg_groups *g, int64_t line);
// What m2 / dof may err by: its own sum, and n e^2 for an error e of the mean.
double kg_spread_variance_acc(const kg_spread *s, double dof);

// ---- storing a result -------------------------------------------------------------------------------
static inline bool kg_is_half(kg_dtype t) { return t == KG_F16 || t == KG_BF16; }
// Half-precision inputs are exact, and honest kernels compute in float32: what computing adds (`arithmetic`, units of
// the working u) is charged at u_acc there, and only roundings of stored values (`stored`) at half precision. So a sum
// kept in half precision has nowhere to hide. For other dtypes both are charged at the rung.
static inline void kg_ref_put(kg_ref *ref, size_t k, bool half, double value, double arithmetic, double stored,
                              double acc) {
    ref->value[k] = value;
    ref->local[k] = half ? stored : arithmetic + stored;
    ref->acc[k] = half ? acc + arithmetic : acc;
}

// ---- softmax of a line --------------------------------------------------------------------------------
typedef struct {
    int64_t line;                  // which; -1: none yet
    double largest, sum, sum_acc;  // of exp(x - largest); acc in units of u_acc
    double spread;                 // mean of |x - largest|, weighted with the softmax
} kg_softmax;
kg_softmax kg_softmax_of(const kg_view *v, const kg_groups *g, int64_t line);

// Lines met by ascending outputs: one after the other, or in turn when dim is not the last. Keeps as many of the latest
// as there are outputs asked for, at most.
typedef struct {
    kg_softmax *line;
    int64_t n;
} kg_softmax_cache;
int kg_softmax_cache_make(kg_softmax_cache *c, size_t outputs);  // -1: no memory
const kg_softmax *kg_softmax_cached(kg_softmax_cache *c, const kg_view *v, const kg_groups *g, int64_t line);
void kg_softmax_cache_free(kg_softmax_cache *c);
// ref[k] = log softmax of an element x of the line. log S errs by S's relative error: that of exp (KG_LAMBDA), of the
// x - m in it on average, and of the sum. x - m rounds, and so does m + log S in kernels that keep it.
void kg_log_softmax_put(kg_ref *ref, size_t k, bool half, const kg_softmax *s, double x);

#endif
