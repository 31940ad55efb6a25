// The p-norm of a vector with its error, for tasks that divide by one.
#ifndef KG_P_NORMS_H
#define KG_P_NORMS_H

#include "oracle/stages.h"

// A value with what computing it may err by: local in units of u, acc in units of u_acc.
typedef struct {
    double value, local, acc;
} kg_length;

typedef struct {
    double p;
    kg_sum_t powers;      // of |x|^p, for finite p
    double most, local;   // for p infinite: the largest |x| and error
    double acc_relative;  // of the elements, the largest
} kg_p_norm;

static inline kg_p_norm kg_p_norm_start(double p) { return (kg_p_norm){.p = p}; }
// An element and its error, in units of u; acc_relative: its relative error in units of u_acc.
void kg_p_norm_add(kg_p_norm *n, kg_point x, double acc_relative);
kg_length kg_p_norm_end(const kg_p_norm *n);
// max(norm, eps), as PyTorch's clamp_min: NaN stays.
kg_length kg_at_least(kg_length norm, double eps);

// A block of exact inputs over max(their p-norm, eps), as a stage: F.normalize.
void kg_stage_normalize(const kg_rung *r, kg_stage *s, double p, double eps);

#endif
