// The smallest or the largest value along a dimension, and where it stands first: min and max. NaN comes before
// everything, -0 equals 0. Exact.
#ifndef KG_EXTREMES_H
#define KG_EXTREMES_H

#include "task/task.h"

extern const kg_param kg_params_extreme[];  // (input, dim, keepdim=False)
int kg_extreme_cases(kg_cases *b);
int kg_extreme_infer(const kg_task *t, kg_case *c);
int kg_min_oracle(const kg_call *call, kg_ref *ref);
int kg_max_oracle(const kg_call *call, kg_ref *ref);
double kg_extreme_reach(const kg_task *t, const kg_case *c);
void kg_extreme_work(const kg_task *t, const kg_case *c, kg_work *w);

// worse: ">=" for min, "<=" for max.
#define KG_EXTREME_TASK(which, worse)                                                                             \
    .suite = "kbx", .category = "Reduce", .params = kg_params_extreme,                                            \
    .outputs = (const char *const[]){#which, #which "_indices", NULL}, .lowest = KG_PREC_FP32,                    \
    .cases = kg_extreme_cases, .infer = kg_extreme_infer, .oracle = kg_##which##_oracle, .work = kg_extreme_work, \
    .reach = kg_extreme_reach,                                                                                    \
    .torch_baseline = "lambda input, dim, keepdim=False: tuple(torch." #which "(input, dim, keepdim=keepdim))",   \
    .c_body =                                                                                                     \
        "const int64_t line = kg_line(input, dim, i), step = kg_stride(input, dim);\n"                            \
        "double best = kg_get_at(input, line);\n"                                                                 \
        "int64_t found = 0;\n"                                                                                    \
        "for (int64_t k = 1; k < kg_dim(input, dim); k++) {\n"                                                    \
        "    const double x = kg_get_at(input, line + k * step);\n"                                               \
        "    if (x " worse                                                                                        \
        " best || best != best) continue;\n"                                                                      \
        "    best = x;\n"                                                                                         \
        "    found = k;\n"                                                                                        \
        "}\n"                                                                                                     \
        "kg_put(" #which                                                                                          \
        ", i, best);\n"                                                                                           \
        "kg_put(" #which "_indices, i, (double)found);\n"

#endif
