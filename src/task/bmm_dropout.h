// A batched product, then RMS norm or not, GELU, dropout: what fused_bmm_dropout_gelu and
// fused_bmm_rmsnorm_gelu_dropout
// (_sub) share. Judged as src/task/dropout.h says; bounds are those of oracle/product.c and oracle/stages.h.
#ifndef KG_BMM_DROPOUT_H
#define KG_BMM_DROPOUT_H

#include "task/dropout.h"
#include "task/products.h"

// Parameters input1, input2 come first. A case of every shape that the operations must bear, made by add(), and of
// their strides and dtypes.
typedef kg_case *(*kg_bmm_add)(kg_cases *b, kg_tensor input1, kg_tensor input2);
kg_case *kg_bmm_pair(kg_cases *b, kg_tensor input1, kg_tensor input2);
void kg_bmm_cases(kg_cases *b, kg_bmm_add add);
// (batch, n, m) by (batch, m, p), contiguous float32.
kg_case *kg_bmm_case(kg_cases *b, kg_bmm_add add, int64_t batch, int64_t n, int64_t m, int64_t p);
// Square matrices of the public benchmark: 32 of 256 to 2432 on CUDA; 4 of 64 to 256 on the CPU.
void kg_bmm_timed(kg_cases *b, kg_bmm_add add);

int kg_bmm_infer(const kg_task *t, kg_case *c);                    // -1 unless both are of one dtype, in 3 dimensions
int kg_bmm_oracle(const kg_call *call, kg_ref *ref);               // the product, as an unfused kernel stores it
void kg_bmm_work(const kg_task *t, const kg_case *c, kg_work *w);  // and one special function an output
double kg_bmm_reach(const kg_task *t, const kg_case *c);
kg_term kg_gelu_term(const kg_rung *r, kg_term x, const char *approximate);

// gelu(rms_norm(product)), normalised over `normalized_shape`, as an unfused kernel stores it.
int kg_bmm_norm_infer(const kg_task *t, kg_case *c);
int kg_bmm_norm_oracle(const kg_call *call, kg_ref *ref);
double kg_bmm_norm_reach(const kg_task *t, const kg_case *c);
// Sets normalized_shape to the last dimension, as one number.
kg_case *kg_bmm_norm_pair(kg_cases *b, kg_tensor input1, kg_tensor input2);
// Normalised over one dimension, two and all three, in float32 and float16, with an eps that shows.
void kg_bmm_norm_shapes(kg_cases *b, kg_bmm_add add);

#define KG_APPROXIMATE_PARAM \
    { .name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .has_default = true, .text = "none" }
#define KG_OUT_PARAM \
    { .name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG }

// Lines of skeletons: the product's element (batch b, row r, column c) into `z`; GELU of y into `g`.
#define KG_BMM_Z                                                                       \
    "double z = 0;\n"                                                                  \
    "for (int64_t k = 0; k < kg_dim(input1, 2); k++)\n"                                \
    "    z += kg_get(input1, (b * kg_dim(input1, 1) + r) * kg_dim(input1, 2) + k) *\n" \
    "         kg_get(input2, (b * kg_dim(input2, 1) + k) * kg_dim(input2, 2) + c);\n"
#define KG_GELU_G                                                             \
    "const double inner = 0.7978845608028654 * (y + 0.044715 * y * y * y);\n" \
    "const double g = 0.5 * y * (kg_same(approximate, \"tanh\") ? 1.0 + tanh(inner) : erfc(-y * 0.7071067811865476));\n"

#endif
