// How a PTX, cubin or bare .cu candidate says its kernel is launched, in a comment of its source:
//
//     kgate: launch kernel=NAME grid=EXPR[,EXPR[,EXPR]] block=EXPR[,...] smem=EXPR args=ITEM,ITEM,...
//
// EXPR: 64-bit integers; + - * / % ( ); numel(x), ndim(x), size(x,i), stride(x,i) of a tensor (i may count from the
// end, and before the first dimension sizes are 1 and strides 0, so that one launch serves every rank); code(x),
// bits(x), its DLPack dtype; ceildiv(a,b), min(a,b), max(a,b); integer and bool parameters by name. ITEM: a tensor's
// name (its address), i32(EXPR), i64(EXPR), f32(PARAM), f64(PARAM). Outputs are called out (the first), out0, out1, ...
// Several launches follow one another, separated by `;` or a line break. smem (bytes of dynamic shared memory) may be
// left out.
#ifndef KG_LAUNCH_SPEC_H
#define KG_LAUNCH_SPEC_H

#include "runner/runner.h"

#define KG_LAUNCH_MAX_ARGS 64

typedef struct kg_launch_spec kg_launch_spec;

typedef struct {
    unsigned grid[3], block[3], smem;
    bool empty;  // a grid of zero blocks: nothing to launch
    int n_args;
    uint64_t value[KG_LAUNCH_MAX_ARGS];  // each in its first bytes: address, i32, i64, f32, f64
} kg_launch;

// Whatever the text, the answer is a specification or one line (KG_ERR_CANDIDATE) that says where it is wrong.
int kg_launch_parse(const char *text, kg_launch_spec **out, kg_error *err);
void kg_launch_free(kg_launch_spec *s);
size_t kg_launch_count(const kg_launch_spec *s);
const char *kg_launch_kernel(const kg_launch_spec *s, size_t i);  // owned by s
// The i-th launch for one slot of a case.
int kg_launch_eval(const kg_launch_spec *s, size_t i, const kg_run_case *c, int slot, kg_launch *out, kg_error *err);

#endif
