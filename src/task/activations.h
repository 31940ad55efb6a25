// Activations and products that exist once for every dtype and once more for one dtype alone (relu, relu_fp16, ...).
// Each KG_<NAME>_TASK is the shared part of the task structs; a file adds name, signature, summary and cases.
#ifndef KG_ACTIVATIONS_H
#define KG_ACTIVATIONS_H

#include "oracle/oracle.h"
#include "task/families.h"

extern const kg_param kg_params_input_out[];      // (input, *, out=None)
extern const kg_param kg_params_input_inplace[];  // (input, inplace=False)
extern const kg_param kg_params_gelu[];           // (input, approximate='none')
extern const kg_param kg_params_mul[];            // (input, other, *, out=None)
extern const char *const kg_outputs_out[];        // one output, "out"

// Cases in dtype `only`, or in all of the operation's dtypes when it is KG_DTYPES.
int kg_relu_cases(kg_cases *b, kg_dtype only);
int kg_gelu_cases(kg_cases *b, kg_dtype only);
int kg_tanh_cases(kg_cases *b, kg_dtype only);
int kg_sigmoid_cases(kg_cases *b, kg_dtype only);
int kg_mul_cases(kg_cases *b, kg_dtype only);
// Products of the dtype variants are timed on square matrices, 256 to 8192.
int kg_mul_variant_cases(kg_cases *b, kg_dtype only);

// GELU in half precision is float32 between one reading and one rounding: this often what float32 may err by is
// allowed, still a twentieth of what the two forms differ by. One put together from half-precision steps loses its left
// tail and is no right answer.
#define KG_GELU_HALF 32
int kg_relu_oracle(const kg_call *call, kg_ref *ref);
int kg_gelu_oracle(const kg_call *call, kg_ref *ref);
int kg_tanh_oracle(const kg_call *call, kg_ref *ref);
int kg_sigmoid_oracle(const kg_call *call, kg_ref *ref);
int kg_mul_oracle(const kg_call *call, kg_ref *ref);

void kg_work_one_op(const kg_task *t, const kg_case *c, kg_work *w);       // one plain operation an element
void kg_work_one_special(const kg_task *t, const kg_case *c, kg_work *w);  // one special function, two plain ones

#define KG_RELU_TASK .suite = "kbx", KG_RELU_OPERATION
#define KG_RELU_OPERATION                                                                                           \
    .category = "Activation", .params = kg_params_input_inplace, .outputs = kg_outputs_out, .lowest = KG_PREC_FP32, \
    .infer = kg_infer_same, .oracle = kg_relu_oracle, .work = kg_work_one_op, .torch_baseline = "F.relu",           \
    .cpu_baseline = "onednn", .triton_expr = "tl.where(x < 0, 0.0, x)",                                             \
    .c_body =                                                                                                       \
        "const double x = kg_get(input, i);\n"                                                                      \
        "kg_put(out, i, x > 0 || x != x ? x : 0.0);\n"

#define KG_GELU_TASK                                                                                       \
    .suite = "kbx", .category = "Activation", .params = kg_params_gelu, .outputs = kg_outputs_out,         \
    .lowest = KG_PREC_FP32, .infer = kg_infer_same, .oracle = kg_gelu_oracle, .work = kg_work_one_special, \
    .torch_baseline = "F.gelu", .cpu_baseline = "onednn",                                                  \
    .c_body =                                                                                              \
        "const double x = kg_get(input, i);\n"                                                             \
        "const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"                          \
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n"                                           \
        "const double twice_cdf = by_tanh ? 1.0 + tanh(inner) : erfc(-x * 0.7071067811865476);\n"          \
        "kg_put(out, i, 0.5 * x * twice_cdf);\n"

#define KG_TANH_TASK                                                                                        \
    .suite = "kbx", .category = "Activation", .params = kg_params_input_out, .outputs = kg_outputs_out,     \
    .lowest = KG_PREC_FP32, .infer = kg_infer_float, .oracle = kg_tanh_oracle, .work = kg_work_one_special, \
    .torch_baseline = "torch.tanh", .cpu_baseline = "onednn", .triton_expr = "libdevice.tanh(x)",           \
    .c_body = "kg_put(out, i, tanh(kg_get(input, i)));\n"

#define KG_SIGMOID_TASK                                                                                        \
    .suite = "kbx", .category = "Activation", .params = kg_params_input_out, .outputs = kg_outputs_out,        \
    .lowest = KG_PREC_FP32, .infer = kg_infer_float, .oracle = kg_sigmoid_oracle, .work = kg_work_one_special, \
    .torch_baseline = "torch.sigmoid", .cpu_baseline = "onednn", .triton_expr = "1.0 / (1.0 + tl.exp(-x))",    \
    .c_body = "kg_put(out, i, 1.0 / (1.0 + exp(-kg_get(input, i))));\n"

#define KG_MUL_TASK .suite = "kbx", KG_MUL_OPERATION
#define KG_MUL_OPERATION                                                                                         \
    .category = "Math", .params = kg_params_mul, .outputs = kg_outputs_out, .lowest = KG_PREC_FP32,              \
    .infer = kg_infer_broadcast, .oracle = kg_mul_oracle, .work = kg_work_one_op, .torch_baseline = "torch.mul", \
    .cpu_baseline = "onednn",                                                                                    \
    .c_body = "kg_put(out, i, kg_get_broadcast(input, out, i) * kg_get_broadcast(other, out, i));\n"

#endif
