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

#define KG_MATMUL_TASK                                                                                              \
    .suite = "kbx", .category = "MatrixMultiply", .outputs = kg_outputs_product, .infer = kg_matmul_infer,          \
    .oracle = kg_matmul_oracle, .work = kg_matmul_work, .reach = kg_matmul_reach, .torch_baseline = "torch.matmul", \
    .c_body = kg_matmul_body

#endif
