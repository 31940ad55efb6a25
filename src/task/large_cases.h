// Cases past 32 bits that every task gets beside its own.
#ifndef KG_LARGE_CASES_H
#define KG_LARGE_CASES_H

#include "task/task.h"

// For full cases only. -1: the task cannot make its cases.
int kg_add_large_cases(kg_cases *b);

#endif
