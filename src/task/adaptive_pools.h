// What adaptive average pooling and the operations fused with it share.
#ifndef KG_ADAPTIVE_POOLS_H
#define KG_ADAPTIVE_POOLS_H

#include "oracle/stages.h"
#include "oracle/windows.h"
#include "task/families.h"

// output_size (S0, S1), or one int for both. A None in it means the input's own size: no case gives one, since C has no
// None inside a tuple.

// The cases of KG_CASES_QUICK, and at KG_CASES_FULL the full ones. add: a case of one input (args[0]), an output_size
// of n ints.
typedef kg_case *(*kg_pool_add)(kg_cases *b, kg_tensor input, int n, int64_t s0, int64_t s1);
int kg_adaptive_cases(kg_cases *b, kg_pool_add add);

// The pooled shape of `in`, (N, C, H, W) or (C, H, W). -1: there is none.
int kg_adaptive_shape(const kg_tensor *in, const kg_arg *output_size, kg_tensor *out);
// The mean of the window of pooled element `index`.
kg_term kg_adaptive_mean(const kg_rung *r, const kg_view *in, const kg_tensor *pooled, int64_t index);
// Elements in an average window.
double kg_adaptive_window(const kg_tensor *in, const kg_tensor *pooled);

// Lines of a skeleton's body: output i's place (plane, y, x) among height by width of a plane; the window's sum.
#define KG_ADAPTIVE_PLACE                                                \
    "const int64_t height = kg_dim(out, -2), width = kg_dim(out, -1);\n" \
    "const int64_t x = i % width, y = i / width % height, plane = i / (width * height);\n"
#define KG_ADAPTIVE_SUM(input, sum)                                                              \
    "const int64_t rows = kg_dim(" input ", -2), columns = kg_dim(" input                        \
    ", -1);\n"                                                                                   \
    "const int64_t y0 = y * rows / height, y_end = ((y + 1) * rows + height - 1) / height;\n"    \
    "const int64_t x0 = x * columns / width, x_end = ((x + 1) * columns + width - 1) / width;\n" \
    "double " sum                                                                                \
    " = 0;\n"                                                                                    \
    "for (int64_t r = y0; r < y_end; r++)\n"                                                     \
    "    for (int64_t k = x0; k < x_end; k++) " sum " += kg_get(" input ", (plane * rows + r) * columns + k);\n"

#endif
