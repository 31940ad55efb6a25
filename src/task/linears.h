// A linear layer with functions behind it: input (*, in_features) @ weight.T (out_features, in_features) + bias.
#ifndef KG_LINEARS_H
#define KG_LINEARS_H

#include "oracle/stages.h"
#include "task/products.h"

enum { KG_LINEAR_INPUT, KG_LINEAR_WEIGHT, KG_LINEAR_BIAS, KG_LINEAR_OWN };  // OWN: the first parameter behind them
#define KG_LINEAR_PARAMS                                                                         \
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "weight", .kind = KG_P_TENSOR}, {           \
        .name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true \
    }

// A case whose layer gives values of deviation 1 and more, with a bias of that size: functions bend there and are not
// saturated.
kg_case *kg_linear_case(kg_cases *b, kg_tensor input, int64_t out_features, bool bias);
// Shapes, strides, dtypes, infinities in the bias. Quick or full.
void kg_linear_cases(kg_cases *b);
int kg_linear_infer(const kg_task *t, kg_case *c);  // one output, (*, out_features)

// ref's values, locals and accs of the layer alone. On all processors where it is large.
int kg_linear_ref(const kg_call *call, kg_ref *ref);
// f of each of the layer's elements.
int kg_linear_map(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx), const void *ctx);
void kg_linear_work(const kg_task *t, const kg_case *c, kg_work *w);  // with one special function an output
double kg_linear_reach(const kg_task *t, const kg_case *c);

// Lines of a skeleton's body that leave output i of the layer in z.
#define KG_LINEAR_Z                                                                                    \
    "const int64_t column = i % kg_dim(weight, 0), row = kg_line(input, -1, i / kg_dim(weight, 0));\n" \
    "double z = bias ? kg_get(bias, column) : 0.0;\n"                                                  \
    "for (int64_t k = 0; k < kg_dim(weight, 1); k++)\n"                                                \
    "    z += kg_get_at(input, row + k * kg_stride(input, -1)) *\n"                                    \
    "         kg_get_at(weight, column * kg_stride(weight, 0) + k * kg_stride(weight, 1));\n"

#define KG_LINEAR_TASK KG_LINEAR_OPERATION, .infer = kg_linear_infer, .reach = kg_linear_reach
#define KG_LINEAR_OPERATION                                                                                        \
    .suite = "kbx", .category = "Fusion", .params = params, .outputs = kg_outputs_product, .lowest = KG_PREC_TF32, \
    .work = kg_linear_work

#endif
