// Elementwise functions of one tensor "input", from real numbers to real numbers: what their task files share.
#ifndef KG_POINTWISE_H
#define KG_POINTWISE_H

#include "oracle/oracle.h"
#include "task/activations.h"

// Floating dtypes and, as promoted to float32, two integer ones.
extern const kg_dtype kg_floats_and_ints[];
// Adds int32 cases with values low..high, for functions that are constant, or NaN, on most integers.
void kg_small_integers(kg_cases *b, int low, int high);

// kg_map over "input"; f's ctx is the output's kg_dtype.
int kg_pointwise_oracle(const kg_call *call, kg_ref *ref, kg_map_fn f);
// Sets the dtype of out= where a case gives one: for outputs whose dtype is not the input's.
void kg_out_dtype(kg_cases *b, kg_dtype t);

// Whether a device may take x for zero (flush to zero): it is a float32 denormal.
static inline bool kg_may_be_zero(double x) { return x != 0 && fabs(x) < 0x1p-126; }
// p has the product x y in it, of which a factor may be taken for zero: that takes up to 2^-126 times the other one, in
// units of float32's roundoff, or makes NaN of an infinity.
static inline kg_point kg_flushed_factors(kg_point p, double x, double y) {
    if ((kg_may_be_zero(x) && isinf(y)) || (kg_may_be_zero(y) && isinf(x))) p.local = KG_ANY_ANSWER;
    else p.local += ((kg_may_be_zero(x) ? fabs(y) : 0) + (kg_may_be_zero(y) ? fabs(x) : 0)) * 0x1p-102;
    return p;
}

// A float32 denormal may be taken for zero (flush to zero) on the way to p = f(x). Here f is NaN on one side of 0 and a
// number, or infinite, at 0: PTX's sqrt.approx.ftz gives -0 for the largest negative denormal.
static inline kg_point kg_flushed_nan(kg_point p, double x) {
    if (kg_may_be_zero(x) && isnan(p.value)) p.local = KG_ANY_ANSWER;
    return p;
}
// The same, and f(0) = 0 or f(0) infinite.
static inline kg_point kg_flushed(kg_point p, double x) {
    if (isnan(p.value) || !kg_may_be_zero(x)) return kg_flushed_nan(p, x);
    p.local = fabs(p.value) < 1 ? p.local + fabs(p.value) * 0x1p24 : INFINITY;
    return p;
}
kg_point kg_sqrt_point(double x);

// Parameter list (input), and two outputs of input's shape, both of kg_float_of its dtype.
extern const kg_param kg_params_input[];
int kg_infer_two_floats(const kg_task *t, kg_case *c);

#define KG_POINTWISE_TASK \
    .suite = "kbx", .params = kg_params_input_out, .outputs = kg_outputs_out, .lowest = KG_PREC_FP32

#endif
