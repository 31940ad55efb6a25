// The C side of a task's signature, shared by prototypes and skeletons.
#ifndef KG_PROTOTYPE_H
#define KG_PROTOTYPE_H

#include "task/task.h"

// Adds "const DLTensor *input, int64_t dim, DLTensor *out": the parameters that C and CUDA get, then the outputs.
void kg_add_c_parameters(kg_text *out, const kg_task *t);
// The C declaration of one parameter, "int64_t dim".
void kg_add_c_parameter(kg_text *out, const kg_param *p);
// C and CUDA get every parameter but the optional destinations.
static inline bool kg_c_gets(const kg_param *p) { return p->role != KG_OUT_ARG; }

#endif
