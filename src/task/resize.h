// A case made into another by giving other lengths to axes of one size: for cases that are made of a task's own.
#ifndef KG_RESIZE_H
#define KG_RESIZE_H

#include "task/families.h"

#define KG_FEW_ELEMENTS 20000                                // of each tensor of a case that others are made of
#define KG_INDEX_MAX    (((int64_t)1 << KG_INDEX_BITS) - 1)  // the last one that 32 bits count

// What sizes become: in all tensors those of `grown` become `longer`, others above `most` become `most` (0: stay).
typedef struct {
    bool expanded;  // inputs are (stride 0), however long it is; else only where it takes much memory
    int n;
    int64_t grown[2], longer, most;
} kg_resize;

// Plain tensors of few elements, the first of them with random values. `fits` says which fills go with other sizes.
bool kg_is_start(const kg_task *t, const kg_case *c, bool (*fits)(const kg_fill *f));
// Values drawn element by element, or all the same.
bool kg_fill_is_anywhere(const kg_fill *f);
// Drawn element by element, and not all the same.
bool kg_fill_is_random(const kg_fill *f);

// false: the task has no such case; *c is then of no use. Sizes that an argument or the order of a fill's matrices
// names do not shrink.
bool kg_resize_case(const kg_task *t, kg_case *c, const kg_resize *x);
// A number among the arguments that is this size may well be meant to be it.
bool kg_is_named_size(const kg_case *c, int64_t size);
// Sizes of indices and counts follow from other sizes: such cases do not.
bool kg_may_shrink(const kg_case *c);

// kg_task.reach; 1 where there is none.
double kg_reach(const kg_task *t, const kg_case *c);
// Of the first output, else of the first argument that is overwritten in place.
int64_t kg_principal_elements(const kg_case *c, const kg_task *t);
// The sizes of all tensors, each once. Returns how many; `sizes` has room for KG_MAX_ARGS * KG_MAX_NDIM.
int kg_sizes(const kg_case *c, int64_t *sizes);

#endif
