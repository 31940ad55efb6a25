// Shared fp64 mathematics of the tasks: reading a call's values, elementwise maps, sums with their error analysis.
//
// How to write a task on it (see src/task/kbx/Activation/tanh.c for a whole one):
//   elementwise   a function point(x, ctx) -> kg_point {value, local} and kg_map(); about 40 lines with the cases
//   reduction     kg_sum_t s = {0}; kg_sum_add() per term in natural order; kg_sum_value/local/acc at the end
//   product       kg_dot_add(&s, a, b) per term, then the same three
//   skeleton      fill c_items and c_body of kg_task (task.h says how)
// Families of cases, infer functions and work models are in src/task/families.h.
#ifndef KG_ORACLE_H
#define KG_ORACLE_H

#include <math.h>

#include "task/task.h"

// The task's oracle; prepares the call and takes the first reading where the caller did not. -1: out of memory.
int kg_oracle(const kg_call *call, kg_ref *ref);

// ---- reading a call -----------------------------------------------------------------------------
// By name; an unknown name ends the program (a task's own bug).
int kg_param_index(const kg_task *t, const char *param);
const kg_arg *kg_call_arg(const kg_call *call, const char *param);
// A tensor's view. A Number given for a tensor comes as a 0-dimensional f64. data == NULL, ndim 0 for None or absent:
// check with kg_call_has first where the parameter is optional.
kg_view kg_call_view(const kg_call *call, const char *param);
// The parameter holds a value (tensor, number, text, ...): it is neither None nor absent. For parameters with a
// default read .i/.f/.s of kg_call_arg: they hold the default when absent.
bool kg_call_has(const kg_call *call, const char *param);
// The view seen with the broadcast shape of `shape_of`; ends the program when it does not broadcast (infer said yes).
kg_view kg_view_expand(const kg_view *v, const kg_tensor *shape_of);
// Number of dimension `dim`, negative ones from the end; -1 when out of range. 0 and -1 are legal for ndim 0.
int kg_wrap_dim(int64_t dim, int ndim);
// Reads element at storage offset (already computed with the strides): no division, for inner loops.
static inline double kg_at_offset(const kg_view *v, int64_t offset) { return kg_load(v->desc.dtype, v->data, offset); }
// Row-major index <-> coordinates.
void kg_coords(const kg_tensor *t, int64_t logical, int64_t *coord);
int64_t kg_offset_at(const kg_tensor *t, const int64_t *coord);

// Lines along one dimension: line `k` of a tensor (row-major over the other dimensions) starts at storage offset
// .start and steps by .step for .n elements. dim must be wrapped already.
typedef struct {
    int64_t start, step, n;
} kg_line_t;
kg_line_t kg_line_of(const kg_tensor *t, int dim, int64_t line);
// The line that the element with this row-major index lies on.
int64_t kg_line_index(const kg_tensor *t, int dim, int64_t logical);

// ---- one point ----------------------------------------------------------------------------------
// value: f in fp64. local: what an honest kernel that works at unit roundoff u may err by, in units of u.
typedef struct {
    double value, local;
} kg_point;

// Backward model f(x(1+d))(1+e): condition is the sum of |x_i df/dx_i|. The factor covers a few roundings and the
// intrinsics of GPUs.
#define KG_LAMBDA 8.0
static inline kg_point kg_point_make(double value, double condition) {
    kg_point p = {value, KG_LAMBDA * (fabs(condition) + fabs(value))};
    return p;
}
// A value that honest kernels give without any rounding beyond the output's own (relu, abs, selection).
static inline kg_point kg_point_exact(double value) {
    kg_point p = {value, 0};
    return p;
}

// ref from f over the broadcast elements of the named tensors: x[k] is parameter params[k]'s element. n_params <= 4.
// Rounds value to the output dtype's integers where that is an integer one. Sets acc to 0.
typedef kg_point (*kg_map_fn)(const double *x, const void *ctx);
int kg_map(const kg_call *call, kg_ref *ref, int n_params, const char *const *params, kg_map_fn f, const void *ctx);
// Of half-precision results of half-precision tensors: those are exact, so that a kernel which works in float32 rounds
// once, and one which works in half precision throughout rounds each of the function's few steps. This share of local
// stays in half precision's units (1/8 of what kg_point_make gives is one rounding of the value and of each term, 0 is
// none but the output's own), all of it counts in float32's.
void kg_ref_half(const kg_call *call, kg_ref *ref, double share);

// ---- functions and their derivatives where libm has none ------------------------------------------
double kg_sigmoid(double x);     // no overflow, full relative accuracy on both sides
double kg_normal_cdf(double x);  // full relative accuracy in the left tail
double kg_normal_pdf(double x);
kg_point kg_gelu_point(double x, bool tanh_form);
kg_point kg_tanh_point(double x);
kg_point kg_sigmoid_point(double x);
kg_point kg_exp_point(double x);
kg_point kg_selu_point(double x);
kg_point kg_silu_point(double x);
kg_point kg_relu_point(double x);  // NaN stays NaN, as in PyTorch

// Relative error of pow(x, p): powers other than 1, 2 and 1/2 may be taken as exp(p log x), which errs by |p log x|.
double kg_power_roundings(double p, double x);

// ---- sums ---------------------------------------------------------------------------------------
// What roundings add up to that are not of mean zero: sum.c.
typedef struct {
    float s;         // the terms one by one in float32
    double strayed;  // how far that was from the exact sum at most
    double lost;     // sum of sign(t_k) |s_k| over the terms of a few last bits of s_k
} kg_serial;
// last_bit: the spacing of the accumulator's numbers over their size, at most.
static inline double kg_lost(double term, double partial, double last_bit) {
    const double s = fabs(partial);
    return fabs(term) < 4 * last_bit * s ? copysign(s, term) : 0;
}
static inline void kg_serial_add(kg_serial *f, double term, double exact) {
    f->s += (float)term;
    f->lost += kg_lost(term, exact, 0x1p-23);
    const double d = fabs((double)f->s - exact);
    // Neither past float32's range nor among its denormals, where float64 sums do not follow.
    if (d > f->strayed && d < 0x1p127 && fabs(exact) > 0x1p-100) f->strayed = d;
}
// From P = sum_k (s_k^2 + q_k); u is serial's.
static inline double kg_acc_of(double partial, const kg_serial *serial, double u) {
    const double walk = sqrt(partial);
    return fmax(8 * walk, 4 * walk + 2 * serial->strayed / u) + fabs(serial->lost) / 4;
}

// A running sum with its error analysis (sum.c). Value by compensated summation, so right to fp64's last bit or so.
typedef struct {
    double hi, lo;   // value = hi + lo
    double square;   // q: sum of squared terms
    double partial;  // sum over k of s_k^2 + q_k
    kg_serial serial;
    double local2;   // sum of squared local errors of the terms
    double largest;  // max |term|
    int64_t n;
} kg_sum_t;
// A term that is exact (an input element).
void kg_sum_add(kg_sum_t *s, double term);
// A term that an honest kernel computes with error u * local.
void kg_sum_add_point(kg_sum_t *s, kg_point term);
// A product of two inputs, exactly (by FMA). Its local error, in units of u: rounding a and b to u, 2 |a b|.
void kg_dot_add(kg_sum_t *s, double a, double b);
double kg_sum_value(const kg_sum_t *s);
// In units of u: 2 * sqrt(sum of squared locals of the terms) + the largest of them: independent roundings add up
// like a random walk (Higham & Mary 2019), and a short sum may have all of them on one side.
double kg_sum_local(const kg_sum_t *s);
// In units of u_acc: 8 * sqrt(sum_k (s_k^2 + q_k)), or more where a serial sum strays further: see sum.c. 0 for fewer
// than two terms.
double kg_sum_acc(const kg_sum_t *s);

// Running mean and centred sum of squares (Welford), for std, var and the norms; exact to fp64 roundings.
// Two-pass in fact: call kg_moments over the whole line.
typedef struct {
    double mean, m2;
    int64_t n;
    double mean_acc, m2_acc;
} kg_moments_t;
// mean_acc: what summing for the mean may err by, in units of u_acc (already divided by n).
// m2_acc: the same for the centred sum of squares, for a two-pass (or Welford) kernel: sum's own error plus
// what an error e of the mean and the rounding of x - mean add (n e^2 and 2 e |sum of centred| <= 0 to first order).
kg_moments_t kg_moments(const kg_view *v, kg_line_t line);
// What Welford's running mean adds to m2_acc: moments.c.
static inline double kg_welford_acc(int64_t n, double mean, double m2) {
    return 2 * KG_LAMBDA * fabs(mean) * sqrt((double)n / 6 * m2);
}

#endif
