// Products: matmul, linear, convolution, and the fused linear layer.
#include <string.h>

#include "runner/baseline/dnnl_plan.h"

// A matrix (or a vector as one row or one column) with its batch dimensions, as `ndim` dimensions: the library wants
// both operands and the result to have the same number.
static kg_tensor as_matrices(const kg_tensor *t, int ndim, bool left) {
    kg_tensor m = *t;
    if (t->ndim == 1) {
        m.ndim = 2;
        m.shape[left ? 1 : 0] = t->shape[0], m.stride[left ? 1 : 0] = t->stride[0];
        m.shape[left ? 0 : 1] = 1, m.stride[left ? 0 : 1] = left ? t->shape[0] * t->stride[0] : 1;
    }
    kg_tensor r = {.dtype = t->dtype, .ndim = ndim};
    const int extra = ndim - m.ndim;
    for (int i = 0; i < ndim; i++) {
        r.shape[i] = i < extra ? 1 : m.shape[i - extra];
        r.stride[i] = i < extra ? 0 : m.stride[i - extra];
    }
    return r;
}

// One product step over described operands; bias and attr may be NULL.
static dn_step *matmul_step(dn_plan *p, const dn_md *a, const dn_md *b, const dn_md *bias, const dn_md *out, void *attr,
                            kg_error *err) {
    dn_op op;
    if (p->api.matmul_desc_init(&op, a, b, bias, out)) {
        kg_baseline_refuse(err, "onednn", "product of these shapes");
        return NULL;
    }
    return kg_dnnl_step(p, &op, attr, "product in this dtype", err);
}

static int bind(dn_plan *p, dn_step *s, int arg, const dn_md *md, const kg_run_tensor *t, kg_error *err) {
    void *m = kg_dnnl_follow(p, md, t, err);
    if (!m) return -1;
    kg_dnnl_step_arg(s, arg, m);
    return 0;
}

static int prepare_matmul(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    (void)task;
    const kg_run_tensor *a = kg_baseline_tensor(c, "input"), *b = kg_baseline_tensor(c, "other");
    const kg_run_tensor *out = kg_baseline_out(c);
    if (!a || !b || a->desc.dtype != b->desc.dtype)
        return kg_baseline_refuse(err, "onednn", "product of these operands");
    if (!kg_is_contiguous(&out->desc)) return kg_baseline_refuse(err, "onednn", "strided product");
    int ndim = a->desc.ndim > b->desc.ndim ? a->desc.ndim : b->desc.ndim;
    if (ndim < 2) ndim = 2;
    const kg_tensor ta = as_matrices(&a->desc, ndim, true), tb = as_matrices(&b->desc, ndim, false);
    int64_t shape[KG_MAX_NDIM];
    for (int i = 0; i < ndim - 2; i++) shape[i] = ta.shape[i] > tb.shape[i] ? ta.shape[i] : tb.shape[i];
    shape[ndim - 2] = ta.shape[ndim - 2], shape[ndim - 1] = tb.shape[ndim - 1];
    const kg_tensor to = kg_tensor_contiguous(out->desc.dtype, ndim, shape);
    dn_md ma, mb, mo;
    if (kg_dnnl_describe(p, &ta, &ma, err) || kg_dnnl_describe(p, &tb, &mb, err) || kg_dnnl_describe(p, &to, &mo, err))
        return -1;
    dn_step *s = matmul_step(p, &ma, &mb, NULL, &mo, NULL, err);
    if (!s) return -1;
    return bind(p, s, DN_ARG_SRC, &ma, a, err) || bind(p, s, DN_ARG_WEIGHTS, &mb, b, err) ||
                   bind(p, s, DN_ARG_DST, &mo, out, err)
               ? -1
               : 0;
}

// ---- linear ---------------------------------------------------------------------------------------
static int linear(dn_plan *p, const kg_run_case *c, void *attr, kg_tensor *result, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *w = kg_baseline_tensor(c, "weight");
    const kg_run_tensor *bias = kg_baseline_tensor(c, "bias"), *out = kg_baseline_out(c);
    if (!x || !w || w->desc.ndim != 2 || !kg_is_contiguous(&x->desc) || !kg_is_contiguous(&out->desc))
        return kg_baseline_refuse(err, "onednn", "strided linear layer");
    const int64_t k = w->desc.shape[1], n = w->desc.shape[0], rows = k ? kg_numel(&x->desc) / k : 0;
    const kg_tensor a = kg_tensor_contiguous(x->desc.dtype, 2, (int64_t[]){rows, k});
    const kg_tensor b = {
        .dtype = w->desc.dtype, .ndim = 2, .shape = {k, n}, .stride = {w->desc.stride[1], w->desc.stride[0]}};
    *result = kg_tensor_contiguous(out->desc.dtype, 2, (int64_t[]){rows, n});
    dn_md ma, mb, mo, mbias;
    if (kg_dnnl_describe(p, &a, &ma, err) || kg_dnnl_describe(p, &b, &mb, err) || kg_dnnl_describe(p, result, &mo, err))
        return -1;
    if (bias) {
        const kg_tensor row = kg_tensor_contiguous(bias->desc.dtype, 2, (int64_t[]){1, n});
        if (!kg_is_contiguous(&bias->desc)) return kg_baseline_refuse(err, "onednn", "strided bias");
        if (kg_dnnl_describe(p, &row, &mbias, err)) return -1;
    }
    dn_step *s = matmul_step(p, &ma, &mb, bias ? &mbias : NULL, &mo, attr, err);
    if (!s || bind(p, s, DN_ARG_SRC, &ma, x, err) || bind(p, s, DN_ARG_WEIGHTS, &mb, w, err) ||
        bind(p, s, DN_ARG_DST, &mo, out, err))
        return -1;
    return bias ? bind(p, s, DN_ARG_BIAS, &mbias, bias, err) : 0;
}

static int prepare_linear(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    (void)task;
    kg_tensor result;
    return linear(p, c, NULL, &result, err);
}

// Product with bias and ReLU in one primitive, then layer norm in place.
static int prepare_linear_relu_norm(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_arg *shape = kg_baseline_arg(c, "normalized_shape");
    void *attr = kg_dnnl_post_eltwise(p, DN_RELU, 0, 0);
    kg_tensor result = {0};
    const int failed = linear(p, c, attr, &result, err);
    p->api.primitive_attr_destroy(attr);
    if (failed) return -1;
    if (shape && (shape->n != 1 || shape->ints[0] != result.shape[1]))
        return kg_baseline_refuse(err, "onednn", "layer norm over several dimensions of a linear layer");
    dn_md md;
    dn_op op;
    const float eps = (float)kg_baseline_float(c, "eps", 1e-5);
    if (kg_dnnl_describe(p, &result, &md, err)) return -1;
    if (p->api.layer_normalization_forward_desc_init(&op, DN_INFERENCE, &md, NULL, eps, 0))
        return kg_baseline_refuse(err, "onednn", task);
    dn_step *s = kg_dnnl_step(p, &op, NULL, "such layer norm", err);
    const kg_run_tensor *out = kg_baseline_out(c);
    return s && !bind(p, s, DN_ARG_SRC, &md, out, err) && !bind(p, s, DN_ARG_DST, &md, out, err) ? 0 : -1;
}

// ---- convolution ----------------------------------------------------------------------------------
typedef struct {
    kg_run_tensor x, w, bias, out;
    bool has_bias;
    kg_tensor tx, tw, to;  // 4 dimensions; the weight 5 with groups
    dn_dims stride, dilation, pad_l, pad_r;
} conv;

static kg_tensor with_batch(kg_tensor t) {
    if (t.ndim == 4) return t;
    const int64_t step = t.shape[0] * t.stride[0];
    for (int i = 3; i > 0; i--) t.shape[i] = t.shape[i - 1], t.stride[i] = t.stride[i - 1];
    t.shape[0] = 1, t.stride[0] = step, t.ndim = 4;
    return t;
}

static kg_tensor with_groups(const kg_tensor *w, int64_t groups) {
    kg_tensor g = {.dtype = w->dtype, .ndim = 5};
    g.shape[0] = groups, g.shape[1] = w->shape[0] / groups;
    g.stride[0] = w->shape[0] / groups * w->stride[0], g.stride[1] = w->stride[0];
    for (int i = 1; i < 4; i++) g.shape[i + 1] = w->shape[i], g.stride[i + 1] = w->stride[i];
    return g;
}

static int read_conv(const kg_run_case *c, conv *v, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *w = kg_baseline_tensor(c, "weight");
    const kg_run_tensor *bias = kg_baseline_tensor(c, "bias");
    const int64_t groups = kg_baseline_int(c, "groups", 1);
    if (!x || !w || w->desc.ndim != 4 || groups < 1) return kg_baseline_refuse(err, "onednn", "such convolution");
    if (bias && !kg_is_contiguous(&bias->desc)) return kg_baseline_refuse(err, "onednn", "strided bias");
    *v = (conv){.x = *x, .w = *w, .out = *kg_baseline_out(c), .has_bias = bias != NULL};
    if (bias) v->bias = *bias;
    v->tx = with_batch(v->x.desc), v->to = with_batch(v->out.desc);
    v->tw = groups > 1 ? with_groups(&w->desc, groups) : w->desc;
    for (int i = 0; i < 2; i++) {
        v->stride[i] = kg_baseline_entry(c, "stride", i, 1);
        v->dilation[i] = kg_baseline_entry(c, "dilation", i, 1) - 1;  // the library counts skipped elements
        v->pad_l[i] = kg_baseline_entry(c, "padding", i, 0);
        const int64_t reach =
            (v->to.shape[2 + i] - 1) * v->stride[i] + (w->desc.shape[2 + i] - 1) * (v->dilation[i] + 1) + 1;
        v->pad_r[i] = reach - v->tx.shape[2 + i] - v->pad_l[i];
    }
    return 0;
}

// A memory in the layout that the primitive chose: the tensor itself where it lies so already, else a scratch that a
// reorder step fills (before the primitive) or empties (after it).
static void *place(dn_plan *p, const dn_md *own, const dn_md *chosen, const kg_run_tensor *t, void **outer,
                   kg_error *err) {
    *outer = kg_dnnl_follow(p, own, t, err);
    if (!*outer || p->api.memory_desc_equal(own, chosen)) return *outer;
    return kg_dnnl_scratch(p, chosen, err);
}

static int reorder(dn_plan *p, const dn_md *from_md, const dn_md *to_md, void *from, void *to, kg_error *err) {
    if (from == to) return 0;
    dn_step *s = kg_dnnl_reorder_step(p, from_md, to_md, err);
    if (!s) return -1;
    kg_dnnl_step_arg(s, DN_ARG_SRC, from);
    kg_dnnl_step_arg(s, DN_ARG_DST, to);
    return 0;
}

// Makes the descriptor of the convolution; with free_layout the library chooses where elements lie.
static int describe_conv(dn_plan *p, const conv *v, bool free_layout, dn_op *op, void **pd, kg_error *err) {
    int (*const describe)(dn_plan *, const kg_tensor *, dn_md *, kg_error *) =
        free_layout ? kg_dnnl_describe_any : kg_dnnl_describe;
    dn_md x, w, o, bias;
    if (describe(p, &v->tx, &x, err) || describe(p, &v->tw, &w, err) || describe(p, &v->to, &o, err) ||
        (v->has_bias && kg_dnnl_describe(p, &v->bias.desc, &bias, err)))
        return -1;
    if (p->api.dilated_convolution_forward_desc_init(op, DN_INFERENCE, DN_CONV_AUTO, &x, &w, v->has_bias ? &bias : NULL,
                                                     &o, v->stride, v->dilation, v->pad_l, v->pad_r) ||
        p->api.primitive_desc_create(pd, op, NULL, p->engine, NULL))
        return kg_baseline_refuse(err, "onednn", "convolution of these layouts");
    return 0;
}

// Steps in order: reorder input, reorder weight, convolve, reorder output. pd says which layouts were chosen; what it
// returns is its own.
static int plan_steps(dn_plan *p, const conv *v, const dn_op *op, void *pd, kg_error *err) {
    dn_md x, w, o, bias;
    if (kg_dnnl_describe(p, &v->tx, &x, err) || kg_dnnl_describe(p, &v->tw, &w, err) ||
        kg_dnnl_describe(p, &v->to, &o, err) || (v->has_bias && kg_dnnl_describe(p, &v->bias.desc, &bias, err)))
        return -1;
    const dn_md *cx = p->api.primitive_desc_query_md(pd, DN_QUERY_SRC, 0);
    const dn_md *cw = p->api.primitive_desc_query_md(pd, DN_QUERY_WEIGHTS, 0);
    const dn_md *co = p->api.primitive_desc_query_md(pd, DN_QUERY_DST, 0);
    void *mx, *mw, *mo, *mb = v->has_bias ? kg_dnnl_follow(p, &bias, &v->bias, err) : NULL;
    void *ix = place(p, &x, cx, &v->x, &mx, err), *iw = place(p, &w, cw, &v->w, &mw, err);
    void *io = place(p, &o, co, &v->out, &mo, err);
    if (!ix || !iw || !io || (v->has_bias && !mb)) return -1;
    if (reorder(p, &x, cx, mx, ix, err) || reorder(p, &w, cw, mw, iw, err)) return -1;
    dn_step *s = kg_dnnl_step(p, op, NULL, "such convolution", err);
    if (!s) return -1;
    kg_dnnl_step_arg(s, DN_ARG_SRC, ix);
    kg_dnnl_step_arg(s, DN_ARG_WEIGHTS, iw);
    if (mb) kg_dnnl_step_arg(s, DN_ARG_BIAS, mb);
    kg_dnnl_step_arg(s, DN_ARG_DST, io);
    return reorder(p, co, &o, io, mo, err);
}

static int plan_conv(dn_plan *p, const conv *v, bool free_layout, kg_error *err) {
    dn_op op;
    void *pd = NULL;
    if (describe_conv(p, v, free_layout, &op, &pd, err)) return -1;
    const int failed = plan_steps(p, v, &op, pd, err);
    p->api.primitive_desc_destroy(pd);
    return failed;
}

static double time_plan(dn_plan *p, kg_error *err) {
    if (kg_dnnl_plan_call(p, 0, err)) return -1;
    const double start = kg_now();
    if (kg_dnnl_plan_call(p, 0, err)) return -1;
    return kg_now() - start;
}

// PyTorch's layout as it is, or the library's own with reorders around it: whichever is faster here.
static int prepare_conv(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    (void)task;
    conv v = {0};
    if (read_conv(c, &v, err) || plan_conv(p, &v, true, err)) return -1;
    const double chosen = time_plan(p, err);
    kg_dnnl_plan_reset(p);
    if (chosen < 0 || plan_conv(p, &v, false, err)) {
        kg_error_clear(err);  // the plain layout is not implemented: the chosen one stands
        kg_dnnl_plan_reset(p);
        return plan_conv(p, &v, true, err);
    }
    const double plain = time_plan(p, err);
    if (plain >= 0 && plain <= chosen) return 0;
    kg_dnnl_plan_reset(p);
    return plan_conv(p, &v, true, err);
}

const dn_task kg_dnnl_products[] = {
    {"matmul", prepare_matmul},
    {"linear", prepare_linear},
    {"conv2d", prepare_conv},
    {"fused_layer_norm_relu_linear", prepare_linear_relu_norm},
    {NULL, NULL},
};
