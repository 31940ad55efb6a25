// Reductions (input, dim, keepdim=False) of the study: parameters, shapes, cases, work. dim is an int or a tuple of
// ints.
#ifndef KG_GAP22_REDUCTIONS_H
#define KG_GAP22_REDUCTIONS_H

#include "oracle/reduce.h"
#include "task/activations.h"

enum { KG_RED_INPUT, KG_RED_DIM, KG_RED_KEEPDIM };
extern const kg_param kg_params_reduction[];

typedef struct {
    const kg_dtype *dtypes;  // ends with KG_DTYPES; the first is the principal one
    kg_fill fill;
    bool empty;      // a reduction over nothing has a value
    bool logarithm;  // values far from 0, which exp cannot take as they are
    kg_dtype timed;  // on CUDA
    int64_t sizes[2][2];
} kg_reduction_family;
int kg_reduction_cases(kg_cases *b, const kg_reduction_family *f);

int kg_reduction_infer(const kg_task *t, kg_case *c);  // refuses a reduction over nothing
int kg_reduction_infer_empty(const kg_task *t, kg_case *c);
kg_groups kg_reduction_groups(const kg_call *call);
double kg_reduction_reach(const kg_task *t, const kg_case *c);

// Lines that the skeletons' bodies start with, and inside a loop over k: `at` is element k of the n that output i
// reduces.
#define KG_REDUCTION_WALK                                                                                    \
    "// Bit d of a mask: dimension d is reduced.\n"                                                          \
    "int64_t mask = 0, n = 1, start = 0, rest = i;\n"                                                        \
    "for (int64_t d = 0; d < dim->n; d++)\n"                                                                 \
    "    mask |= (int64_t)1 << (dim->v[d] < 0 ? dim->v[d] + (input->ndim ? input->ndim : 1) : dim->v[d]);\n" \
    "for (int d = input->ndim - 1; d >= 0; d--) {\n"                                                         \
    "    if (mask >> d & 1) {\n"                                                                             \
    "        n *= kg_dim(input, d);\n"                                                                       \
    "        continue;\n"                                                                                    \
    "    }\n"                                                                                                \
    "    start += rest % kg_dim(input, d) * kg_stride(input, d);\n"                                          \
    "    rest /= kg_dim(input, d);\n"                                                                        \
    "}\n"
#define KG_REDUCTION_ELEMENT                                         \
    "    int64_t at = start, term = k;\n"                            \
    "    for (int d = input->ndim - 1; d >= 0; d--) {\n"             \
    "        if (!(mask >> d & 1)) continue;\n"                      \
    "        at += term % kg_dim(input, d) * kg_stride(input, d);\n" \
    "        term /= kg_dim(input, d);\n"                            \
    "    }\n"

#endif
