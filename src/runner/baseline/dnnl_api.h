// The part of oneDNN 2's C interface that the baselines use, declared here so that building needs no oneDNN headers.
//
// Descriptors are filled by the library through pointers; we never read them, so ours are opaque and roomier than
// version 2.6's (a memory descriptor has 696 bytes, the largest operation descriptor 5,976). Numbers of enumerations
// are version 2's (oneapi/dnnl/dnnl_types.h); libdnnl.so.2 is the name of that interface.
#ifndef KG_DNNL_API_H
#define KG_DNNL_API_H

#include "base/base.h"

#define DN_MAX_NDIM 12

typedef struct {
    _Alignas(16) unsigned char bytes[1024];
} dn_md;
typedef struct {
    _Alignas(16) unsigned char bytes[16384];
} dn_op;
typedef int64_t dn_dims[DN_MAX_NDIM];
typedef struct {
    int arg;
    void *memory;
} dn_exec_arg;

enum { DN_F16 = 1, DN_BF16 = 2, DN_F32 = 3, DN_S32 = 4, DN_S8 = 5, DN_U8 = 6 };
enum { DN_CPU = 1, DN_STREAM_DEFAULT = 1, DN_TAG_ANY = 1, DN_INFERENCE = 96, DN_CONV_AUTO = 3 };
enum {
    DN_RELU = 31,
    DN_POW = 32,
    DN_TANH = 47,
    DN_GELU_ERF = 48,
    DN_SQUARE = 79,
    DN_ABS = 95,
    DN_SQRT = 111,
    DN_LINEAR = 127,
    DN_LOGISTIC = 175,
    DN_EXP = 191,
    DN_GELU_TANH = 207,
    DN_LOG = 239,
    DN_AVG_POOL = 767,
    DN_ADD = 131056,
    DN_MUL = 131057,
    DN_DIV = 131060,
    DN_SUB = 131061,
    DN_REDUCE_MAX = 196594,
    DN_REDUCE_SUM = 196596,
    DN_REDUCE_MEAN = 196598,
    DN_SOFTMAX = 196608,
    DN_LOG_SOFTMAX = 196609
};
enum { DN_GLOBAL_STATS = 1, DN_USE_SCALE = 8, DN_USE_SHIFT = 16 };
enum {
    DN_ARG_SRC = 1,
    DN_ARG_SRC_1 = 2,
    DN_ARG_DST = 17,
    DN_ARG_WEIGHTS = 33,
    DN_ARG_BIAS = 41,
    DN_ARG_MEAN = 49,
    DN_ARG_VARIANCE = 50,
    DN_ARG_SCALE = 51,
    DN_ARG_SHIFT = 52,
    DN_ARG_POST_OP_0 = 16384
};
enum { DN_QUERY_SRC = 129, DN_QUERY_WEIGHTS = 131, DN_QUERY_DST = 133 };

// name, parameters; every one returns dnnl_status_t (0: success).
#define DN_FUNCTIONS(F)                                                                                                \
    F(engine_create, (void **engine, int kind, size_t index))                                                          \
    F(stream_create, (void **stream, void *engine, unsigned flags))                                                    \
    F(stream_wait, (void *stream))                                                                                     \
    F(stream_destroy, (void *stream))                                                                                  \
    F(engine_destroy, (void *engine))                                                                                  \
    F(memory_desc_init_by_strides, (dn_md * md, int ndim, const dn_dims dims, int type, const dn_dims strides))        \
    F(memory_desc_init_by_tag, (dn_md * md, int ndim, const dn_dims dims, int type, int tag))                          \
    F(memory_create, (void **memory, const dn_md *md, void *engine, void *data))                                       \
    F(memory_set_data_handle, (void *memory, void *data))                                                              \
    F(memory_destroy, (void *memory))                                                                                  \
    F(primitive_desc_create, (void **pd, const dn_op *op, void *attr, void *engine, void *hint))                       \
    F(primitive_desc_destroy, (void *pd))                                                                              \
    F(reorder_primitive_desc_create,                                                                                   \
      (void **pd, const dn_md *from, void *from_engine, const dn_md *to, void *to_engine, void *attr))                 \
    F(primitive_create, (void **primitive, void *pd))                                                                  \
    F(primitive_destroy, (void *primitive))                                                                            \
    F(primitive_execute, (void *primitive, void *stream, int n, const dn_exec_arg *args))                              \
    F(primitive_attr_create, (void **attr))                                                                            \
    F(primitive_attr_destroy, (void *attr))                                                                            \
    F(primitive_attr_set_post_ops, (void *attr, void *post))                                                           \
    F(primitive_attr_set_output_scales, (void *attr, int64_t n, int mask, const float *scales))                        \
    F(primitive_attr_set_scales, (void *attr, int arg, int64_t n, int mask, const float *scales))                      \
    F(post_ops_create, (void **post))                                                                                  \
    F(post_ops_destroy, (void *post))                                                                                  \
    F(post_ops_append_eltwise, (void *post, float scale, int alg, float alpha, float beta))                            \
    F(post_ops_append_binary, (void *post, int alg, const dn_md *src1))                                                \
    F(eltwise_forward_desc_init, (dn_op * op, int prop, int alg, const dn_md *data, float alpha, float beta))          \
    F(binary_desc_init, (dn_op * op, int alg, const dn_md *a, const dn_md *b, const dn_md *dst))                       \
    F(softmax_v2_forward_desc_init, (dn_op * op, int prop, int alg, const dn_md *src, const dn_md *dst, int axis))     \
    F(layer_normalization_forward_desc_init,                                                                           \
      (dn_op * op, int prop, const dn_md *data, const dn_md *stat, float eps, unsigned flags))                         \
    F(batch_normalization_forward_desc_init, (dn_op * op, int prop, const dn_md *data, float eps, unsigned flags))     \
    F(reduction_desc_init, (dn_op * op, int alg, const dn_md *src, const dn_md *dst, float p, float eps))              \
    F(pooling_v2_forward_desc_init,                                                                                    \
      (dn_op * op, int prop, int alg, const dn_md *src, const dn_md *dst, const dn_dims strides, const dn_dims kernel, \
       const dn_dims dilation, const dn_dims pad_l, const dn_dims pad_r))                                              \
    F(matmul_desc_init, (dn_op * op, const dn_md *src, const dn_md *weights, const dn_md *bias, const dn_md *dst))     \
    F(dilated_convolution_forward_desc_init,                                                                           \
      (dn_op * op, int prop, int alg, const dn_md *src, const dn_md *weights, const dn_md *bias, const dn_md *dst,     \
       const dn_dims strides, const dn_dims dilates, const dn_dims pad_l, const dn_dims pad_r))

typedef struct {
    void *library;
#define DN_DECLARE(name, params) int(*name) params;
    DN_FUNCTIONS(DN_DECLARE)
#undef DN_DECLARE
    const dn_md *(*primitive_desc_query_md)(void *pd, int what, int index);
    int (*memory_desc_equal)(const dn_md *a, const dn_md *b);
    size_t (*memory_desc_get_size)(const dn_md *md);
} dn_api;

// Opens libdnnl.so.2 and gives it `threads` OpenMP threads. It stays open for the life of the process.
int kg_dnnl_open(dn_api *api, int threads, kg_error *err);

#endif
