// Cases that every task gets beside its own.
#ifndef KG_STRIDED_CASES_H
#define KG_STRIDED_CASES_H

#include "task/task.h"

// Adds cases in which those input tensors are strided that no quick case of the task gives strided. -1: the task cannot
// make its cases.
int kg_add_strided_cases(kg_cases *b);
// Every second element of a tensor whose dimensions lie in reverse order.
kg_tensor kg_tensor_scattered(kg_dtype t, int ndim, const int64_t *shape);

#endif
