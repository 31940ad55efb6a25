// Averages over windows along the last dimension, of the input or of a function of it.
#ifndef KG_POOL1D_H
#define KG_POOL1D_H

#include "task/folds.h"

// kernel_size, stride=None, padding=0: what the pooling tasks' parameters begin with, after input.
#define KG_POOL1D_PARAMS                                                                             \
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "kernel_size", .kind = KG_P_INT},               \
        {.name = "stride", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true}, { \
        .name = "padding", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true  \
    }

// Cases over input's shapes, strides and the parameters; with ceil_mode and count_include_pad where the task has them.
// dtypes[0] gets all, the others (up to KG_DTYPES) a few. kernel: of the timed cases, which the caller adds by
// kg_pool1d_case.
void kg_pool1d_cases(kg_cases *b, const kg_dtype *dtypes);
kg_case *kg_pool1d_case(kg_cases *b, kg_tensor input, int64_t kernel);
int kg_pool1d_infer(const kg_task *t, kg_case *c);  // dtype: kg_float_of(input's)

// f(x): values of n elements, and what a kernel's may err by, in units of u; NULL: the elements themselves, exact.
typedef void (*kg_pool1d_fn)(const double *x, int64_t n, double *term, double *local);
int kg_pool1d_oracle(const kg_call *call, kg_ref *ref, kg_pool1d_fn f);
double kg_pool1d_reach(const kg_task *t, const kg_case *c);
// One plain operation a window's element, and for each input element `plain` and `special` ones.
void kg_pool1d_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special);

// c_body: the sum of term(x) over output i's window, divided by its elements; padding counts where `counted` holds.
#define KG_POOL1D_BODY(term, counted)                                                                   \
    "const int64_t step = stride ? *stride : kernel_size, length = kg_dim(input, -1);\n"                \
    "const int64_t line = i / kg_dim(out, -1), from = i % kg_dim(out, -1) * step - padding;\n"          \
    "const int64_t end = length + padding, to = from + kernel_size < end ? from + kernel_size : end;\n" \
    "int64_t inside = 0;\n"                                                                             \
    "double sum = 0;\n"                                                                                 \
    "for (int64_t k = from; k < to; k++) {\n"                                                           \
    "    if (k < 0 || k >= length) continue;\n"                                                         \
    "    const double x = kg_get(input, line * length + k);\n"                                          \
    "    sum += " term                                                                                  \
    ";\n"                                                                                               \
    "    inside++;\n"                                                                                   \
    "}\n"                                                                                               \
    "kg_put(out, i, sum / (double)(" counted " ? to - from : inside));\n"

#endif
