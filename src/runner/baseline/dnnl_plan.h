// A prepared oneDNN computation: primitives in order, each with its memories. Made once a case; a call only points the
// memories at the slot's tensors and executes.
#ifndef KG_DNNL_PLAN_H
#define KG_DNNL_PLAN_H

#include "runner/baseline/baseline.h"
#include "runner/baseline/dnnl_api.h"

#define DN_MAX_STEPS     8
#define DN_MAX_STEP_ARGS 8
#define DN_MAX_MEMORIES  32

typedef struct {
    void *memory;
    kg_run_tensor from;  // base NULL: scratch
    void *scratch;       // owned
} dn_memory;

typedef struct {
    void *primitive;
    int n;
    dn_exec_arg args[DN_MAX_STEP_ARGS];
} dn_step;

typedef struct {
    dn_api api;
    void *engine, *stream;
    int n_steps, n_memories;
    dn_step steps[DN_MAX_STEPS];
    dn_memory memories[DN_MAX_MEMORIES];
} dn_plan;

void kg_dnnl_plan_reset(dn_plan *p);
int kg_dnnl_plan_call(dn_plan *p, int slot, kg_error *err);

// A descriptor of a tensor as it lies; -1 for a dtype or number of dimensions that oneDNN has not.
int kg_dnnl_describe(dn_plan *p, const kg_tensor *t, dn_md *md, kg_error *err);
// The same shape, layout left to the primitive.
int kg_dnnl_describe_any(dn_plan *p, const kg_tensor *t, dn_md *md, kg_error *err);
// A memory that follows a tensor from slot to slot; NULL on failure (err set).
void *kg_dnnl_follow(dn_plan *p, const dn_md *md, const kg_run_tensor *t, kg_error *err);
// A memory of the plan's own.
void *kg_dnnl_scratch(dn_plan *p, const dn_md *md, kg_error *err);

// Makes the primitive of an operation and adds it; the step's arguments are added after. attr may be NULL. `what` names
// it for the error. NULL when oneDNN has no such implementation.
dn_step *kg_dnnl_step(dn_plan *p, const dn_op *op, void *attr, const char *what, kg_error *err);
dn_step *kg_dnnl_reorder_step(dn_plan *p, const dn_md *from, const dn_md *to, kg_error *err);
void kg_dnnl_step_arg(dn_step *s, int arg, void *memory);

// An attribute with one elementwise function after the operation. Owned by the caller (primitive_attr_destroy).
void *kg_dnnl_post_eltwise(dn_plan *p, int alg, float alpha, float beta);

// The task table: how each task becomes a plan.
typedef int (*dn_prepare)(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err);
typedef struct {
    const char *task;
    dn_prepare prepare;
} dn_task;
extern const dn_task kg_dnnl_pointwise[], kg_dnnl_reductions[], kg_dnnl_products[];  // end with NULL

#endif
