// Products of two quantised matrices (matmul_w8a8, bmm_w8a8): operands (..., M, K) and (..., K, N), float32. The left
// one may have a scale for the tensor, for each matrix or each row, the right one for the tensor, each matrix or
// column; a task's readings say which: choice = {grid, grain of the left, grain of the right, dequantised before the
// product}.
#ifndef KG_QUANTISED_H
#define KG_QUANTISED_H

#include "oracle/quantise.h"
#include "task/products.h"

// Every magnitude well above what kernels add to a scale to keep it from 0, where a row is so short that its largest
// value could come near it.
#define KG_NOT_SMALL KG_LOGSCALE(-2, 2)
// Long lines whose scales lie near 2e-5 in int8, 2e-4 in int4: far above the 1e-8 that a scale may be kept from 0 by
// and the largest values' 1e-5 that kernels use, below the 1e-3 that changes what small weights are.
#define KG_SMALL      KG_NORMAL(0, 0x1p-10)
#define KG_SMALL_INT4 KG_NORMAL(0, 0x1p-11)

void *kg_quantised_prepare(const kg_call *call);
void kg_quantised_release(void *prepared);
int kg_quantised_oracle(const kg_call *call, kg_ref *ref);
int kg_quantised_infer(const kg_task *t, kg_case *c);
void kg_quantised_work(const kg_task *t, const kg_case *c, kg_work *w);
double kg_quantised_reach(const kg_task *t, const kg_case *c);

// `terms` int8 products for each output.
void kg_int8_work(const kg_task *t, const kg_case *c, kg_work *w, double terms);
#define KG_QUANTISED_TASK                                                                                       \
    .suite = "kbx", .category = "Quantization", .outputs = kg_outputs_product, .prepare = kg_quantised_prepare, \
    .release = kg_quantised_release, .oracle = kg_quantised_oracle, .infer = kg_quantised_infer,                \
    .work = kg_quantised_work, .reach = kg_quantised_reach

#endif
