// cuBLASLt, opened when present: the judge measures matrix rates with it, the runner uses it as a baseline.
#ifndef KG_CUBLASLT_H
#define KG_CUBLASLT_H

#include "base/base.h"
#include "device/cuda/api/cublaslt_abi.h"
#include "device/cuda/api/cuda_abi.h"

typedef struct {
    int (*create)(klt_handle *h);
    int (*destroy)(klt_handle h);
    size_t (*version)(void);
    int (*desc_create)(klt_opaque *d, int compute, int scale_type);
    int (*desc_destroy)(klt_opaque d);
    int (*desc_set)(klt_opaque d, int attribute, const void *value, size_t n);
    int (*layout_create)(klt_opaque *l, int type, uint64_t rows, uint64_t cols, int64_t ld);
    int (*layout_destroy)(klt_opaque l);
    int (*layout_set)(klt_opaque l, int attribute, const void *value, size_t n);
    int (*pref_create)(klt_opaque *p);
    int (*pref_destroy)(klt_opaque p);
    int (*pref_set)(klt_opaque p, int attribute, const void *value, size_t n);
    int (*heuristic)(klt_handle h, klt_opaque desc, klt_opaque a, klt_opaque b, klt_opaque c, klt_opaque d,
                     klt_opaque pref, int wanted, klt_heuristic *results, int *found);
    int (*matmul)(klt_handle h, klt_opaque desc, const void *alpha, kcu_ptr a, klt_opaque la, kcu_ptr b, klt_opaque lb,
                  const void *beta, kcu_ptr c, klt_opaque lc, kcu_ptr d, klt_opaque ld, const klt_algo *algo,
                  kcu_ptr workspace, size_t workspace_bytes, kcu_stream stream);
} kg_cublaslt_api;

// KG_ERR_CANNOT when there is none here. It stays open.
int kg_cublaslt_open(kg_cublaslt_api *a, kg_error *err);

#endif
