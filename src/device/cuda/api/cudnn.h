// cuDNN's forward convolution, the part of its binary interface that a baseline needs. These functions are marked
// deprecated in version 9 and are in every one of it; descriptors are opaque. Checked against the real header by
// tests/cuda/abi_check.c. Source: cuDNN API reference, 9, "cudnn_cnn library" and "cudnn_ops library".
#ifndef KG_CUDNN_H
#define KG_CUDNN_H

#include "base/base.h"

typedef void *kdn_opaque;  // a handle or a descriptor, made and freed by the library
typedef struct {
    int algo;
    int status;
    float milliseconds;
    size_t workspace;
    int determinism;
    int math;
    int reserved[3];
} kdn_perf;

enum {
    KDN_FLOAT = 0,
    KDN_DOUBLE = 1,
    KDN_HALF = 2,
    KDN_BFLOAT16 = 9,
    KDN_NCHW = 0,
    KDN_CROSS_CORRELATION = 1,
    KDN_DEFAULT_MATH = 0,  // tf32 for float inputs where the device has it
    KDN_TENSOR_OP_MATH = 1,
    KDN_FMA_MATH = 3
};

typedef struct {
    size_t (*version)(void);
    int (*create)(kdn_opaque *h);
    int (*destroy)(kdn_opaque h);
    int (*tensor_create)(kdn_opaque *t);
    int (*tensor_destroy)(kdn_opaque t);
    int (*tensor_set)(kdn_opaque t, int type, int ndim, const int *shape, const int *strides);
    int (*filter_create)(kdn_opaque *f);
    int (*filter_destroy)(kdn_opaque f);
    int (*filter_set)(kdn_opaque f, int type, int format, int ndim, const int *shape);
    int (*conv_create)(kdn_opaque *c);
    int (*conv_destroy)(kdn_opaque c);
    int (*conv_set)(kdn_opaque c, int n, const int *padding, const int *stride, const int *dilation, int mode,
                    int compute_type);
    int (*conv_set_groups)(kdn_opaque c, int groups);
    int (*conv_set_math)(kdn_opaque c, int math);
    int (*find)(kdn_opaque h, kdn_opaque tx, const void *x, kdn_opaque tw, const void *w, kdn_opaque conv,
                kdn_opaque ty, void *y, int wanted, int *found, kdn_perf *results, void *workspace, size_t bytes);
    int (*convolve)(kdn_opaque h, const void *alpha, kdn_opaque tx, const void *x, kdn_opaque tw, const void *w,
                    kdn_opaque conv, int algo, void *workspace, size_t bytes, const void *beta, kdn_opaque ty, void *y);
    int (*add)(kdn_opaque h, const void *alpha, kdn_opaque ta, const void *a, const void *beta, kdn_opaque tc, void *c);
} kg_cudnn_api;

// KG_ERR_CANNOT when there is none here. It stays open.
int kg_cudnn_open(kg_cudnn_api *a, kg_error *err);

#endif
