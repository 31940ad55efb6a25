// A narrower contract than the task's own: the user says for which part of the schema a kernel is meant to be right,
// and the result says so too. Without it every dtype, layout and shape of the schema counts.
#ifndef KG_SCOPE_H
#define KG_SCOPE_H

#include "task/task.h"

// Names of one comma-separated list: dtypes ("f32", "float16", ...: only these), "contiguous" (no other strides),
// "nonempty" (no empty tensors), "finite" (no cases about NaN, infinities and denormals), "small" (no tensor of 2^31
// elements or more, or whose elements lie as far apart), "large" (only those). NULL or "": everything.
typedef struct {
    unsigned dtypes;  // bit per kg_dtype; 0: all
    bool contiguous, nonempty, finite, small, large;
} kg_scope;

int kg_scope_parse(const char *text, kg_scope *out, kg_error *err);
bool kg_scope_allows(const kg_scope *s, const kg_case *c);

#endif
