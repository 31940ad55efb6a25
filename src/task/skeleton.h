// The Python side of skeletons. Nothing is added to `out` when they fail.
#ifndef KG_SKELETON_H
#define KG_SKELETON_H

#include "task/task.h"

int kg_python_skeleton(kg_text *out, const kg_task *t, kg_error *err);
int kg_triton_skeleton(kg_text *out, const kg_task *t, kg_error *err);
int kg_tilelang_skeleton(kg_text *out, const kg_task *t, kg_error *err);

#endif
