// What optimizer tasks share: cases, moving averages with their error analysis, and Adam's step.
//
// First-order error propagation. Coefficients count: 1 - beta formed in float32 from a float32 beta has a relative
// error of u beta / (1 - beta), 500 u for 0.999, and so has 1 - beta^t.
#ifndef KG_OPTIMIZERS_H
#define KG_OPTIMIZERS_H

#include "oracle/oracle.h"
#include "task/families.h"

// ---- cases ------------------------------------------------------------------------------------------
// The tensors of an optimizer step, in the order of its parameters: what is updated, its gradient, and what the
// optimizer keeps.
typedef struct {
    const char *name;  // NULL ends the list
    kg_fill fill;
} kg_optimizer_tensor;
// The parameter and state that is given as `param` says, its gradient as `grad`, what a kernel keeps contiguous.
kg_case *kg_optimizer_case(kg_cases *b, const kg_optimizer_tensor *tensors, kg_tensor param, kg_tensor grad);
kg_case *kg_optimizer_line(kg_cases *b, const kg_optimizer_tensor *tensors, kg_dtype t, int64_t n);
// Shapes, strides, NaN and infinities; finish() sets what every case needs besides tensors.
void kg_optimizer_shapes(kg_cases *b, const kg_optimizer_tensor *tensors, kg_case *(*finish)(kg_cases *b, kg_case *c));
// One dimension, 2^12 to 2^27 on CUDA, 2^14 to 2^23 on the CPU.
void kg_optimizer_timed(kg_cases *b, const kg_optimizer_tensor *tensors, kg_case *(*finish)(kg_cases *b, kg_case *c));
// No outputs but those in place; every tensor has the first one's dtype and shape.
int kg_optimizer_infer(const kg_task *t, kg_case *c);

// ---- arithmetic -------------------------------------------------------------------------------------
// local: error in units of u, as kg_point has it.
// (maximize ? -g : g) + decay p.
kg_point kg_gradient(double p, double g, double decay, bool maximize);
// beta old + (1 - beta) x.
kg_point kg_moving_average(kg_point old, double beta, kg_point x);
kg_point kg_square(kg_point x);
// sqrt(v / correction) + eps; relative: correction's own relative error.
kg_point kg_root(kg_point v, double correction, double relative, double eps);
// p - rate m / denominator; relative: rate's own relative error.
kg_point kg_step(kg_point p, double rate, double relative, kg_point m, kg_point denominator);
// 1 - beta^t and its relative error.
double kg_bias_correction(double beta, int64_t t, double *relative);
// p - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps).
typedef struct {
    double beta1, beta2, lr, eps;
    int64_t t;
} kg_adam;
kg_point kg_adam_step(const kg_adam *o, kg_point p, kg_point m, kg_point v);
// Fills ref's element k; a value that is not finite has no error.
void kg_put_point(kg_ref *ref, size_t k, kg_point p);

#endif
