// Cases in which options meet, that every task gets beside its own.
#ifndef KG_OPTION_CASES_H
#define KG_OPTION_CASES_H

#include "task/task.h"

// For quick and full cases. `b` holds the task's own. -1: the task cannot make its cases.
int kg_add_option_cases(kg_cases *b);

#endif
