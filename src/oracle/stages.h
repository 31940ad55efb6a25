// A fused operation, stage by stage: intermediate values with what an honest kernel may err by in each.
//
// A fused task's oracle computes, for the outputs asked for, the block of intermediate values they depend on (a row, a
// normalised block), from a part's own oracle (kg_matmul_ref, a convolution's) or from the inputs, and sends it through
// the stages below. Each propagates the errors it is given to first order and adds its own roundings.
//
// Errors have a kg_ref's form, u local + u_acc acc. How they pass through a bent function depends on their size, so
// stages take the rung the result must reach: a function f moves by at most max |f(x +- e) - f(x)| at that rung, and
// the two parts are scaled alike.
//
// Half precision: what computing adds is charged at u_acc (honest kernels compute in float32), and the rounding of a
// value that an unfused kernel stores between two stages at the storage's u: kg_term_stored(). So it is where float32
// products may be tf32's: everything else is float32's.
#ifndef KG_STAGES_H
#define KG_STAGES_H

#include "oracle/reduce.h"

// ---- one value --------------------------------------------------------------------------------------
typedef struct {
    double value, local, acc;
} kg_term;

// Where the errors are measured: the rung that results of this dtype must reach.
typedef struct {
    double u, u_acc;
    bool half;
} kg_rung;
kg_rung kg_rung_of(const kg_task *t, kg_dtype d);
double kg_term_error(const kg_rung *r, kg_term x);

static inline kg_term kg_term_exact(double v) { return (kg_term){v, 0, 0}; }
// An input element: rounded to the working precision by kernels that do so; in half precision exact.
kg_term kg_term_input(const kg_rung *r, double v);
// A Number: rounded to the precision that computes.
kg_term kg_term_number(const kg_rung *r, double v);
// Rounded where an unfused half-precision kernel stores it; nothing for other dtypes.
kg_term kg_term_stored(const kg_rung *r, kg_term x);
kg_term kg_term_add(const kg_rung *r, kg_term a, kg_term b);
kg_term kg_term_sub(const kg_rung *r, kg_term a, kg_term b);
kg_term kg_term_mul(const kg_rung *r, kg_term a, kg_term b);
kg_term kg_term_div(const kg_rung *r, kg_term a, kg_term b);
kg_term kg_term_scale(kg_term x, double factor);  // by an exact power of two, or where the caller charges the rounding
// The same errors in units of another rung, where a value goes on in another dtype.
kg_term kg_term_cast(const kg_rung *from, const kg_rung *to, kg_term x);
// f of a value, f's own error as kg_point has it (oracle.h). NaN and infinities have no error, here and below.
kg_term kg_term_map(const kg_rung *r, kg_term x, kg_point (*f)(double x, const void *ctx), const void *ctx);
// (x - mean) / sqrt(spread2), for constants known exactly; and z * weight + bias, as the last step of a normalisation
// (any: there is a weight or a bias at all).
kg_term kg_term_normalise(const kg_rung *r, kg_term x, double mean, double spread2);
kg_term kg_term_affine(const kg_rung *r, kg_term z, double weight, double bias, bool any);
// Into ref; a value that is not finite has no error.
void kg_term_put(kg_ref *ref, size_t k, kg_term x);

// ---- a block of values --------------------------------------------------------------------------------
typedef struct {
    int64_t n;
    kg_term *at;
} kg_stage;

void kg_stage_map(const kg_rung *r, kg_stage *s, kg_point (*f)(double x, const void *ctx), const void *ctx);
void kg_stage_stored(const kg_rung *r, kg_stage *s);
// Sum and mean: errors of the terms added up whole, since approximations err systematically; and the sum's own.
kg_term kg_stage_sum(const kg_rung *r, const kg_stage *s);
kg_term kg_stage_mean(const kg_rung *r, const kg_stage *s);
// Sum of squared deviations over dof: n, or n - 1 for the unbiased variance.
kg_term kg_stage_variance(const kg_rung *r, const kg_stage *s, double dof);
// The largest; NaN where there is one. Elements that their errors keep below it do not count.
kg_term kg_stage_max(const kg_rung *r, const kg_stage *s);
// (sum |x|^p)^(1/p), p > 0; the largest |x| for an infinite one.
kg_term kg_stage_p_norm(const kg_rung *r, const kg_stage *s, double p);
// sqrt(sum of squares).
kg_term kg_stage_norm2(const kg_rung *r, const kg_stage *s);
// By matrix units, where the rung is theirs: src/oracle/product.c.
kg_term kg_stage_dot(const kg_rung *r, const kg_stage *a, const kg_stage *b);
// In place, over the whole block.
void kg_stage_softmax(const kg_rung *r, kg_stage *s);
void kg_stage_log_softmax(const kg_rung *r, kg_stage *s);
// (x - mean) / sqrt(variance + eps), biased variance; for two-pass and Welford kernels (moments.c). weight, bias: one
// value an element, NULL for none.
void kg_stage_layer_norm(const kg_rung *r, kg_stage *s, double eps, const double *weight, const double *bias);
// The same over a channel, without weights; in half precision its statistics may be stored (oracle/norm.h).
void kg_stage_batch_norm(const kg_rung *r, kg_stage *s, double eps);
// x / sqrt(mean square + eps).
void kg_stage_rms_norm(const kg_rung *r, kg_stage *s, double eps, const double *weight);

// ---- walking --------------------------------------------------------------------------------------------
// The outputs that ref asks for, block by block: block b holds `size` outputs, `inner` apart in row-major order (1: the
// last dimensions; the product of the dimensions behind it for a dim). compute() fills all of the block's values once;
// those asked for go into ref. -1: no memory, or compute failed.
typedef int (*kg_stage_fn)(int64_t block, kg_stage *s, void *ctx);
int kg_stage_each(kg_ref *ref, int64_t size, int64_t inner, kg_stage_fn compute, void *ctx);
// The row-major index of element k of a block.
static inline int64_t kg_stage_index(int64_t block, int64_t size, int64_t inner, int64_t k) {
    return (block / inner * size + k) * inner + block % inner;
}
// A part's oracle as the first stage: fills s from n consecutive indices, `step` apart from `first`. part() is as
// kg_task.oracle, on a context.
int kg_stage_from(kg_stage *s, int64_t first, int64_t step, int (*part)(kg_ref *ref, void *ctx), void *ctx);

#endif
