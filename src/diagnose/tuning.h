// What @triton.autotune may choose for a launch of a Triton kernel. This room's own.
#ifndef KG_DIAGNOSE_TUNING_H
#define KG_DIAGNOSE_TUNING_H

#include "diagnose/repair.h"

#define KG_TUNED_PARAMS 48
#define KG_TUNED_BLOCKS 3

// A constexpr of the kernel that the launch gives as a number, and that may be another one.
typedef struct {
    char *name, *value;
    TSNode argument;  // name=value in the launch
    size_t in_grid;   // how often the grid has one program a block of it: twice for square tiles
    bool in_range;    // the kernel steps by it
} kg_tuned_block;

typedef struct {
    char *name;
    bool constant, size;  // size: what the masks, loops and the grid compare with
} kg_tuned_param;

typedef struct {
    const kg_syntax *s;
    TSNode definition, body, launch, grid, arguments;  // grid: the expression; null: no change
    bool lambda;                                       // it is one already, of meta
    char *meta, *kernel;
    kg_tuned_param params[KG_TUNED_PARAMS];
    size_t n_params;
    kg_tuned_block blocks[KG_TUNED_BLOCKS];
    size_t n;
    kg_edits *out;
    char **why;
} kg_tuning;

// Of definition, body, out, why: the parameters, and the launch's blocks; the grid's numbers become the tuner's in
// x->out. A kernel that trials would not leave as it was is refused.
int kg_tuning_read(kg_tuning *x, const kg_captures *launch);
void kg_tuning_free(kg_tuning *x);
// Warps and stages are added to the configurations that an autotuner has.
int kg_triton_widen(const kg_syntax *s, TSNode definition, TSNode body, kg_edits *out, char **why);

#endif
