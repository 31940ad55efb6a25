// input + alpha * other and input - alpha * other, broadcast: alone and with GELU behind them.
#ifndef KG_SCALED_H
#define KG_SCALED_H

#include "oracle/oracle.h"
#include "task/families.h"

extern const kg_param kg_params_scaled[];       // (input, other, *, alpha=1, out=None)
extern const kg_param kg_params_scaled_gelu[];  // (input, other, alpha=1, approximate='none', out=None)

int kg_scaled_cases(kg_cases *b);
bool kg_may_scale(double alpha, kg_dtype t);  // integers take an alpha that is one
// kg_infer_broadcast, where kg_may_scale.
int kg_scaled_infer(const kg_task *t, kg_case *c);
int kg_scaled_gelu_cases(kg_cases *b);
int kg_scaled_gelu_infer(const kg_task *t, kg_case *c);
// sign: 1 or -1, the factor of alpha. Condition |input| + |alpha other|.
int kg_scaled_oracle(const kg_call *call, kg_ref *ref, double sign);
// The sum rounds on the way: its condition times |gelu'| is added to GELU's own.
int kg_scaled_gelu_oracle(const kg_call *call, kg_ref *ref, double sign);
// GELU of input + factor * other.
kg_point kg_scaled_gelu_point(double input, double other, double factor, bool tanh_form);
void kg_scaled_work(const kg_task *t, const kg_case *c, kg_work *w);
void kg_scaled_gelu_work(const kg_task *t, const kg_case *c, kg_work *w);

#endif
