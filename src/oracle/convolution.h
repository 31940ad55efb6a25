// A 2-d cross-correlation: its geometry, and the reference for chosen outputs. Products and their errors: product.h.
#ifndef KG_CONVOLUTION_H
#define KG_CONVOLUTION_H

#include "oracle/product.h"

typedef struct {
    kg_view x, w, bias;  // (N, C, H, W) or (C, H, W); (O, C / groups, R, S); (O), data NULL for none
    kg_tensor out;       // (N, O, P, Q) or (O, P, Q)
    int64_t groups;
    int64_t stride[2], padding[2], dilation[2];  // of rows, of columns; padding: the zeros in front
} kg_conv;

// Products of one output.
double kg_conv_terms(const kg_tensor *weight);
// ref's values, locals and accs for elements of out.
void kg_conv_ref(const kg_conv *c, kg_ref *ref);
// The same as a part for kg_stage_from (ctx: a kg_conv), on every processor where that is worth it.
int kg_conv_part(kg_ref *ref, void *ctx);

#endif
