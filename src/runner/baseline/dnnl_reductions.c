// Reductions and normalisations: softmax, layer and batch norm, sum, average pooling.
#include <string.h>

#include "runner/baseline/dnnl_plan.h"

static int same_dtype(const kg_run_tensor *x, const kg_run_tensor *y, kg_error *err) {
    if (x && x->desc.dtype == y->desc.dtype) return 0;
    return kg_baseline_refuse(err, "onednn", "change of dtype");
}

// Adds src and dst, the arguments that all of these have.
static int add_in_out(dn_plan *p, dn_step *s, const dn_md *src, const kg_run_tensor *x, const dn_md *dst,
                      const kg_run_tensor *y, kg_error *err) {
    void *a = kg_dnnl_follow(p, src, x, err), *b = kg_dnnl_follow(p, dst, y, err);
    if (!a || !b) return -1;
    kg_dnnl_step_arg(s, DN_ARG_SRC, a);
    kg_dnnl_step_arg(s, DN_ARG_DST, b);
    return 0;
}

static int prepare_softmax(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *y = kg_baseline_out(c);
    dn_md src, dst;
    if (same_dtype(x, y, err) || kg_dnnl_describe(p, &x->desc, &src, err) || kg_dnnl_describe(p, &y->desc, &dst, err))
        return -1;
    int64_t dim = kg_baseline_int(c, "dim", -1);
    if (dim < 0) dim += x->desc.ndim;
    dn_op op;
    const int alg = strcmp(task, "softmax") ? DN_LOG_SOFTMAX : DN_SOFTMAX;
    if (p->api.softmax_v2_forward_desc_init(&op, DN_INFERENCE, alg, &src, &dst, dim < 0 ? 0 : (int)dim))
        return kg_baseline_refuse(err, "onednn", "softmax of these layouts");
    dn_step *s = kg_dnnl_step(p, &op, NULL, "such softmax", err);
    return s ? add_in_out(p, s, &src, x, &dst, y, err) : -1;
}

// A per-channel parameter: float32, as the library keeps them.
static int add_vector(dn_plan *p, dn_step *s, int arg, const kg_run_tensor *t, kg_error *err) {
    const int64_t n = kg_numel(&t->desc);
    if (t->desc.dtype != KG_F32 || !kg_is_contiguous(&t->desc))
        return kg_baseline_refuse(err, "onednn", "scale, shift, mean or variance but dense float32");
    const kg_tensor line = kg_tensor_contiguous(KG_F32, 1, &n);
    dn_md md;
    if (kg_dnnl_describe(p, &line, &md, err)) return -1;
    void *m = kg_dnnl_follow(p, &md, t, err);
    if (!m) return -1;
    kg_dnnl_step_arg(s, arg, m);
    return 0;
}

static int prepare_layer_norm(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *y = kg_baseline_out(c);
    const kg_run_tensor *w = kg_baseline_tensor(c, "weight"), *b = kg_baseline_tensor(c, "bias");
    if (same_dtype(x, y, err)) return -1;
    if (!kg_is_contiguous(&x->desc) || !kg_is_contiguous(&y->desc))
        return kg_baseline_refuse(err, "onednn", "strided layer norm");
    const kg_run_arg *shape = kg_baseline_arg(c, "normalized_shape");
    int64_t n = 1;
    for (int i = 0; shape && i < shape->n; i++) n *= shape->ints[i];
    if (!shape || n == 0) return kg_baseline_refuse(err, "onednn", "layer norm of nothing");
    const int64_t two[2] = {kg_numel(&x->desc) / n, n};
    const kg_tensor t = kg_tensor_contiguous(x->desc.dtype, 2, two);
    dn_md md;
    if (kg_dnnl_describe(p, &t, &md, err)) return -1;
    dn_op op;
    const unsigned flags = (w ? DN_USE_SCALE : 0u) | (b ? DN_USE_SHIFT : 0u);
    const float eps = (float)kg_baseline_float(c, "eps", 1e-5);
    if (p->api.layer_normalization_forward_desc_init(&op, DN_INFERENCE, &md, NULL, eps, flags))
        return kg_baseline_refuse(err, "onednn", task);
    dn_step *s = kg_dnnl_step(p, &op, NULL, "such layer norm", err);
    if (!s || add_in_out(p, s, &md, x, &md, y, err)) return -1;
    if (w && add_vector(p, s, DN_ARG_SCALE, w, err)) return -1;
    return b ? add_vector(p, s, DN_ARG_SHIFT, b, err) : 0;
}

// Inference: the running statistics are given. Training also updates them, which the library does not do in place.
static int prepare_batch_norm(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *y = kg_baseline_out(c);
    const kg_run_tensor *mean = kg_baseline_tensor(c, "running_mean"), *var = kg_baseline_tensor(c, "running_var");
    const kg_run_tensor *w = kg_baseline_tensor(c, "weight"), *b = kg_baseline_tensor(c, "bias");
    if (kg_baseline_int(c, "training", 0) || !mean || !var)
        return kg_baseline_refuse(err, "onednn", "batch norm that updates statistics");
    dn_md md, dst;
    if (same_dtype(x, y, err) || kg_dnnl_describe(p, &x->desc, &md, err) || kg_dnnl_describe(p, &y->desc, &dst, err))
        return -1;
    if (!p->api.memory_desc_equal(&md, &dst))
        return kg_baseline_refuse(err, "onednn", "batch norm between two layouts");
    dn_op op;
    const unsigned flags = DN_GLOBAL_STATS | (w ? DN_USE_SCALE : 0u) | (b ? DN_USE_SHIFT : 0u);
    const float eps = (float)kg_baseline_float(c, "eps", 1e-5);
    if (p->api.batch_normalization_forward_desc_init(&op, DN_INFERENCE, &md, eps, flags))
        return kg_baseline_refuse(err, "onednn", task);
    dn_step *s = kg_dnnl_step(p, &op, NULL, "such batch norm", err);
    if (!s || add_in_out(p, s, &md, x, &md, y, err)) return -1;
    if (add_vector(p, s, DN_ARG_MEAN, mean, err) || add_vector(p, s, DN_ARG_VARIANCE, var, err)) return -1;
    if (w && add_vector(p, s, DN_ARG_SCALE, w, err)) return -1;
    return b ? add_vector(p, s, DN_ARG_SHIFT, b, err) : 0;
}

// Which dimensions `dim` (None: all) reduces.
static void reduced_dims(const kg_run_case *c, int ndim, bool *reduced) {
    const kg_run_arg *dim = kg_baseline_arg(c, "dim");
    const bool all = !dim || (dim->n == 0 && !dim->scalar);
    for (int i = 0; i < ndim; i++) reduced[i] = all;
    for (int i = 0; !all && i < dim->n; i++) {
        const int64_t d = dim->ints[i] < 0 ? dim->ints[i] + ndim : dim->ints[i];
        if (d >= 0 && d < ndim) reduced[d] = true;
    }
}

static int prepare_reduction(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *y = kg_baseline_out(c);
    dn_md src, dst;
    if (same_dtype(x, y, err) || kg_dnnl_describe(p, &x->desc, &src, err)) return -1;
    if (!kg_is_contiguous(&y->desc)) return kg_baseline_refuse(err, "onednn", "strided reduction result");
    bool reduced[KG_MAX_NDIM];
    reduced_dims(c, x->desc.ndim, reduced);
    int64_t shape[KG_MAX_NDIM];
    for (int i = 0; i < x->desc.ndim; i++) shape[i] = reduced[i] ? 1 : x->desc.shape[i];
    const kg_tensor kept = kg_tensor_contiguous(y->desc.dtype, x->desc.ndim, shape);
    if (kg_dnnl_describe(p, &kept, &dst, err)) return -1;
    dn_op op;
    const int alg = strcmp(task, "mean") ? DN_REDUCE_SUM : DN_REDUCE_MEAN;
    if (p->api.reduction_desc_init(&op, alg, &src, &dst, 0, 0))
        return kg_baseline_refuse(err, "onednn", "such reduction");
    dn_step *s = kg_dnnl_step(p, &op, NULL, "such reduction", err);
    return s ? add_in_out(p, s, &src, x, &dst, y, err) : -1;
}

// Adaptive pooling is ordinary pooling where the output divides the input.
static int prepare_pool(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *y = kg_baseline_out(c);
    if (same_dtype(x, y, err)) return -1;
    kg_tensor from = x->desc, to = y->desc;
    if (from.ndim == 3) {  // no batch dimension: one of 1 in front
        for (int i = 3; i > 0; i--) {
            from.shape[i] = from.shape[i - 1], from.stride[i] = from.stride[i - 1];
            to.shape[i] = to.shape[i - 1], to.stride[i] = to.stride[i - 1];
        }
        from.shape[0] = to.shape[0] = 1, from.stride[0] = to.stride[0] = 0;
        from.ndim = to.ndim = 4;
    }
    dn_md src, dst;
    if (kg_dnnl_describe(p, &from, &src, err) || kg_dnnl_describe(p, &to, &dst, err)) return -1;
    dn_dims kernel = {0}, none = {0};
    for (int i = 0; i < 2; i++) {
        if (from.shape[2 + i] % to.shape[2 + i]) return kg_baseline_refuse(err, "onednn", "uneven adaptive pooling");
        kernel[i] = from.shape[2 + i] / to.shape[2 + i];
    }
    dn_op op;
    if (p->api.pooling_v2_forward_desc_init(&op, DN_INFERENCE, DN_AVG_POOL, &src, &dst, kernel, kernel, none, none,
                                            none))
        return kg_baseline_refuse(err, "onednn", task);
    dn_step *s = kg_dnnl_step(p, &op, NULL, "such pooling", err);
    return s ? add_in_out(p, s, &src, x, &dst, y, err) : -1;
}

const dn_task kg_dnnl_reductions[] = {
    {"softmax", prepare_softmax},
    {"log_softmax", prepare_softmax},
    {"layer_norm", prepare_layer_norm},
    {"batch_norm", prepare_batch_norm},
    {"sum", prepare_reduction},
    {"mean", prepare_reduction},
    {"adaptive_avg_pool2d", prepare_pool},
    {NULL, NULL},
};
