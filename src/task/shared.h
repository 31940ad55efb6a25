// Operations that are tasks of two suites: the kbx task's file defines their parts, the gap22 task's file uses them,
// with cases of its own.
#ifndef KG_SHARED_H
#define KG_SHARED_H

#include "task/families.h"

#define KG_DECLARE_OPERATION(op)                            \
    extern const kg_param kg_##op##_params[];               \
    extern const char kg_##op##_body[];                     \
    int kg_##op##_cases(kg_cases *b);                       \
    int kg_##op##_infer(const kg_task *t, kg_case *c);      \
    int kg_##op##_oracle(const kg_call *call, kg_ref *ref); \
    void kg_##op##_work(const kg_task *t, const kg_case *c, kg_work *w)

#define KG_OPERATION(op)                                                                                      \
    .params = kg_##op##_params, .infer = kg_##op##_infer, .oracle = kg_##op##_oracle, .work = kg_##op##_work, \
    .c_body = kg_##op##_body

KG_DECLARE_OPERATION(add);
KG_DECLARE_OPERATION(softmax);
KG_DECLARE_OPERATION(argmax);
KG_DECLARE_OPERATION(conv2d);
KG_DECLARE_OPERATION(index_select);
double kg_softmax_reach(const kg_task *t, const kg_case *c);
double kg_argmax_reach(const kg_task *t, const kg_case *c);
double kg_conv2d_reach(const kg_task *t, const kg_case *c);

// Parameters and infer: losses.h.
extern const char kg_cross_entropy_body[];
int kg_cross_entropy_cases(kg_cases *b);
int kg_cross_entropy_oracle(const kg_call *call, kg_ref *ref);
void kg_cross_entropy_work(const kg_task *t, const kg_case *c, kg_work *w);
double kg_cross_entropy_reach(const kg_task *t, const kg_case *c);

#endif
