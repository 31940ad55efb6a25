// Losses of pairs: input and target of one shape (or broadcast), a term for each pair, and their mean or sum.
#ifndef KG_PAIR_LOSSES_H
#define KG_PAIR_LOSSES_H

#include "task/losses.h"

typedef struct {
    kg_fill input, target;
    const char *const *reductions;  // ends with NULL; the first is the default
    bool broadcast;                 // input and target may broadcast
    int64_t row;                    // timed as (n, row) where it is not 0
} kg_pair_family;

int kg_pair_cases(kg_cases *b, const kg_pair_family *f);
kg_case *kg_pair_case(kg_cases *b, const kg_pair_family *f, kg_tensor input, kg_tensor target, const char *reduction);
int kg_pair_infer(const kg_task *t, kg_case *c);
double kg_pair_reach(const kg_task *t, const kg_case *c);
void kg_pair_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special);  // for each pair

// One pair's term; w is the weight's element, 1 without one. "batchmean" divides by the input's first dimension.
// Kernels in half precision may round every step to it (PyTorch does), so terms are charged at the working precision.
typedef kg_point (*kg_pair_fn)(double x, double y, double w, const void *ctx);
int kg_pair_oracle(const kg_call *call, kg_ref *ref, kg_pair_fn f, const void *ctx);

// Skeletons: `term` computes `double v` from x and y; `k` is the pair's index in the broadcast shape.
#define KG_PAIR_BODY(term)                                                                                                  \
    "// Each output alone: its own term, or all of them. Terms are counted over the broadcast shape.\n"                     \
    "const bool none = kg_same(reduction, \"none\");\n"                                                                     \
    "const int ndim = input->ndim > target->ndim ? input->ndim : target->ndim;\n"                                           \
    "int64_t terms = 1;\n"                                                                                                  \
    "for (int d = 1; d <= ndim; d++) {\n"                                                                                   \
    "    const int64_t a = d <= input->ndim ? kg_dim(input, -d) : 1, b = d <= target->ndim ? kg_dim(target, -d) : 1;\n"     \
    "    terms *= a == 1 ? b : a;\n"                                                                                        \
    "}\n"                                                                                                                   \
    "double sum = 0;\n"                                                                                                     \
    "for (int64_t k = none ? i : 0; k < (none ? i + 1 : terms); k++) {\n"                                                   \
    "    int64_t rest = k, x_at = 0, y_at = 0;\n"                                                                           \
    "    for (int d = 1; d <= ndim; d++) {\n"                                                                               \
    "        const int64_t a = d <= input->ndim ? kg_dim(input, -d) : 1, b = d <= target->ndim ? kg_dim(target, -d) : 1;\n" \
    "        const int64_t n = a == 1 ? b : a;\n"                                                                           \
    "        if (a != 1) x_at += rest % n * kg_stride(input, -d);\n"                                                        \
    "        if (b != 1) y_at += rest % n * kg_stride(target, -d);\n"                                                       \
    "        rest /= n;\n"                                                                                                  \
    "    }\n"                                                                                                               \
    "    const double x = kg_get_at(input, x_at), y = kg_get_at(target, y_at);\n" term                                      \
    "    sum += v;\n"                                                                                                       \
    "}\n"                                                                                                                   \
    "if (kg_same(reduction, \"mean\")) sum /= (double)terms;\n"                                                             \
    "if (kg_same(reduction, \"batchmean\")) sum /= (double)kg_dim(input, 0);\n"                                             \
    "kg_put(out, i, sum);\n"

#endif
