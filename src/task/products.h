// Matrix products that exist in every dtype and once more in one dtype alone (matmul, matmul_fp16, matmul_bf16).
#ifndef KG_PRODUCTS_H
#define KG_PRODUCTS_H

#include "oracle/product.h"
#include "task/families.h"

// Products of mean nearly 0: partial sums stay small beside the terms, so that the error of accumulating does not hide
// inputs that were rounded to tf32; and no output is 0 by chance.
#define KG_FACTORS KG_NORMAL(0.1, 1)

extern const kg_param kg_params_matmul[];       // (input, other, *, out=None)
extern const kg_param kg_params_matmul_half[];  // (input, other)
extern const char *const kg_outputs_product[];  // one output, "out"

// Cases in dtype `only`, or in all when it is KG_DTYPES.
int kg_matmul_cases(kg_cases *b, kg_dtype only);
// Calls add(b, n) for the public benchmark's sizes (256 to 4096 by 128), or the CPU's (256 to 1024, by 256).
void kg_square_sizes(kg_cases *b, void (*add)(kg_cases *b, int64_t n));

int kg_matmul_infer(const kg_task *t, kg_case *c);
int kg_matmul_oracle(const kg_call *call, kg_ref *ref);
void kg_matmul_work(const kg_task *t, const kg_case *c, kg_work *w);
double kg_matmul_reach(const kg_task *t, const kg_case *c);
extern const char kg_matmul_body[];
// Lines of a skeleton's body that leave output i's product in `sum`.
#define KG_MATMUL_SUM                                                                                      \
    "// Row of input and column of other that meet in output i; batch dimensions broadcast.\n"             \
    "int d = out->ndim - 1, da = input->ndim - 2, db = other->ndim - 2;\n"                                 \
    "int64_t rest = i, a = 0, b = 0;\n"                                                                    \
    "if (db >= 0) {\n"                                                                                     \
    "    b += rest % out->shape[d] * kg_stride(other, db + 1);\n"                                          \
    "    rest /= out->shape[d--];\n"                                                                       \
    "}\n"                                                                                                  \
    "if (da >= 0) {\n"                                                                                     \
    "    a += rest % out->shape[d] * kg_stride(input, da);\n"                                              \
    "    rest /= out->shape[d--];\n"                                                                       \
    "}\n"                                                                                                  \
    "for (da--, db--; d >= 0; d--, da--, db--) {\n"                                                        \
    "    const int64_t x = rest % out->shape[d];\n"                                                        \
    "    rest /= out->shape[d];\n"                                                                         \
    "    if (da >= 0 && input->shape[da] != 1) a += x * kg_stride(input, da);\n"                           \
    "    if (db >= 0 && other->shape[db] != 1) b += x * kg_stride(other, db);\n"                           \
    "}\n"                                                                                                  \
    "const int64_t a_step = kg_stride(input, -1), b_step = kg_stride(other, other->ndim > 1 ? -2 : -1);\n" \
    "double sum = 0;\n"                                                                                    \
    "for (int64_t k = 0; k < kg_dim(input, -1); k++)\n"                                                    \
    "    sum += kg_get_at(input, a + k * a_step) * kg_get_at(other, b + k * b_step);\n"

#define KG_MATMUL_TASK .suite = "kbx", KG_MATMUL_OPERATION
#define KG_MATMUL_OPERATION                                                                                            \
    .category = "MatrixMultiply", .outputs = kg_outputs_product, .infer = kg_matmul_infer, .oracle = kg_matmul_oracle, \
    .work = kg_matmul_work, .reach = kg_matmul_reach, .torch_baseline = "torch.matmul", .c_body = kg_matmul_body

#endif
