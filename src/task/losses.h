// Losses over classes: input (N, C), (C), or (N, C, d1, ...), target of class indices without the dimension C.
#ifndef KG_LOSSES_H
#define KG_LOSSES_H

#include "oracle/reduce.h"
#include "task/families.h"

typedef enum { KG_REDUCE_NONE, KG_REDUCE_MEAN, KG_REDUCE_SUM } kg_reduction;
kg_reduction kg_reduction_of(const kg_arg *reduction);

// One term of a loss: its value, what computing it may err by (units of u, and of u_acc), and its weight in a mean.
typedef struct {
    double value, local, acc, weight;
} kg_loss_term;
typedef kg_loss_term (*kg_loss_fn)(int64_t index, void *ctx);
// Fills ref: term index[k] itself for "none", else the sum or weighted mean of `terms` terms.
void kg_loss_ref(kg_ref *ref, kg_reduction reduction, bool half, int64_t terms, kg_loss_fn f, void *ctx);

// Parameters (input, target, weight=None, ignore_index=-100, reduction='mean').
enum { KG_LOSS_INPUT, KG_LOSS_TARGET, KG_LOSS_WEIGHT, KG_LOSS_IGNORE, KG_LOSS_REDUCTION };
extern const kg_param kg_params_class_loss[];
extern const char *const kg_outputs_loss[];
static inline int kg_class_dim(const kg_tensor *input) { return input->ndim == 1 ? 0 : 1; }
bool kg_target_is_classes(const kg_case *c);
// fill: values of the input. probabilities: cases with them as targets too.
int kg_class_loss_cases(kg_cases *b, kg_fill fill, bool probabilities);
int kg_class_loss_infer(const kg_task *t, kg_case *c);

#endif
