// Elementwise functions of one, two and three tensors.
#include <string.h>

#include "runner/baseline/dnnl_plan.h"

// f(x) = outer(inner(x)); outer 0: none. alpha and beta are inner's.
typedef struct {
    const char *task;
    int inner;
    float alpha, beta;
    int outer;
} unary;
static const unary unaries[] = {
    {"relu", DN_RELU, 0, 0, 0},       {"tanh", DN_TANH, 0, 0, 0},     {"sigmoid", DN_LOGISTIC, 0, 0, 0},
    {"abs", DN_ABS, 0, 0, 0},         {"exp", DN_EXP, 0, 0, 0},       {"sqrt", DN_SQRT, 0, 0, 0},
    {"log", DN_LOG, 0, 0, 0},         {"square", DN_SQUARE, 0, 0, 0}, {"exp_sqrt", DN_EXP, 0, 0, DN_SQRT},
    {"reciprocal", DN_POW, 1, -1, 0}, {"gelu", DN_GELU_ERF, 0, 0, 0},
};

// A dense tensor is a line to the library, whatever its shape: fewer dimensions, the same values in order.
static kg_tensor flat(const kg_tensor *t) {
    const int64_t n = kg_numel(t);
    return kg_is_contiguous(t) ? kg_tensor_contiguous(t->dtype, 1, &n) : *t;
}

static int eltwise_step(dn_plan *p, int alg, const unary *f, const dn_md *md, const kg_run_tensor *x,
                        const kg_run_tensor *y, kg_error *err) {
    dn_op op;
    if (p->api.eltwise_forward_desc_init(&op, DN_INFERENCE, alg, md, f->alpha, f->beta))
        return kg_baseline_refuse(err, "onednn", f->task);
    dn_step *s = kg_dnnl_step(p, &op, NULL, f->task, err);
    void *a = s ? kg_dnnl_follow(p, md, x, err) : NULL, *b = a ? kg_dnnl_follow(p, md, y, err) : NULL;
    if (!b) return -1;
    kg_dnnl_step_arg(s, DN_ARG_SRC, a);
    kg_dnnl_step_arg(s, DN_ARG_DST, b);
    return 0;
}

// oneDNN computes with integers as floats, which cannot tell those above 2^24 apart.
static int inexact(kg_error *err) { return kg_baseline_refuse(err, "onednn", "integers, exactly"); }

static int eltwise(dn_plan *p, const kg_run_tensor *x, const kg_run_tensor *y, const unary *f, kg_error *err) {
    kg_tensor from = x->desc, to = y->desc;
    if (from.dtype != to.dtype) return kg_baseline_refuse(err, "onednn", "change of dtype in an elementwise function");
    if (from.dtype == KG_I32) return inexact(err);
    if (kg_is_contiguous(&from) && kg_is_contiguous(&to)) from = flat(&from), to = flat(&to);
    dn_md src, dst;
    if (kg_dnnl_describe(p, &from, &src, err) || kg_dnnl_describe(p, &to, &dst, err)) return -1;
    if (!p->api.memory_desc_equal(&src, &dst))
        return kg_baseline_refuse(err, "onednn", "elementwise function between two layouts");
    if (eltwise_step(p, f->inner, f, &src, x, y, err)) return -1;
    // Two primitives: oneDNN 2.6 computes an elementwise post-op of an elementwise operation wrongly.
    const unary outer = {f->task, f->outer, 0, 0, 0};
    return f->outer ? eltwise_step(p, f->outer, &outer, &src, y, y, err) : 0;
}

static int prepare_unary(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const kg_run_tensor *x = kg_baseline_tensor(c, "input");
    if (!x) return kg_baseline_refuse(err, "onednn", "function of a number");
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        unary f = unaries[i];
        if (strcmp(f.task, task)) continue;
        if (f.inner == DN_GELU_ERF && !strcmp(kg_baseline_text(c, "approximate", "none"), "tanh"))
            f.inner = DN_GELU_TANH;
        return eltwise(p, x, kg_baseline_out(c), &f, err);
    }
    return kg_baseline_refuse(err, "onednn", task);
}

// ---- two tensors --------------------------------------------------------------------------------
typedef struct {
    const char *task;
    int alg;
} binary;
static const binary binaries[] = {
    {"add", DN_ADD}, {"mul", DN_MUL}, {"sub", DN_SUB}, {"div", DN_DIV}, {"fused_mul_sub", DN_MUL},
};

// t with ones in front, so that it has as many dimensions as the result.
static kg_tensor pad_dims(const kg_tensor *t, int ndim) {
    kg_tensor r = {.dtype = t->dtype, .ndim = ndim};
    const int extra = ndim - t->ndim;
    for (int i = 0; i < ndim; i++) {
        r.shape[i] = i < extra ? 1 : t->shape[i - extra];
        r.stride[i] = i < extra ? 0 : t->stride[i - extra];
    }
    return r;
}

// All of the result's shape and dense: lines, as in eltwise().
static void flatten_together(kg_tensor *t[], int n) {
    for (int i = 0; i < n; i++)
        if (!kg_is_contiguous(t[i]) || kg_numel(t[i]) != kg_numel(t[0])) return;
    for (int i = 0; i < n; i++) *t[i] = flat(t[i]);
}

// x + alpha * number and x * number are linear functions of x.
static int with_number(dn_plan *p, const binary *b, const kg_run_case *c, const kg_run_tensor *x, double number,
                       kg_error *err) {
    const float alpha = (float)(number * kg_baseline_float(c, "alpha", 1));
    unary f = {b->task, DN_LINEAR, 1, 0, 0};
    if (b->alg == DN_ADD) f.beta = alpha;
    else if (b->alg == DN_SUB) f.beta = -alpha;
    else if (b->alg == DN_MUL) f.alpha = (float)number;
    else return kg_baseline_refuse(err, "onednn", "division by a number");
    return eltwise(p, x, kg_baseline_out(c), &f, err);
}

// The scale of the second operand (alpha), or the third tensor's subtraction after the product.
static int binary_attr(dn_plan *p, double alpha, const dn_md *third, void **attr) {
    *attr = NULL;
    if (alpha == 1 && !third) return 0;
    if (p->api.primitive_attr_create(attr)) return -1;
    const float scale = (float)alpha;
    if (alpha != 1) return p->api.primitive_attr_set_scales(*attr, DN_ARG_SRC_1, 1, 0, &scale);
    void *post = NULL;
    if (p->api.post_ops_create(&post)) return -1;
    int bad = p->api.post_ops_append_binary(post, DN_SUB, third) || p->api.primitive_attr_set_post_ops(*attr, post);
    p->api.post_ops_destroy(post);
    return bad ? -1 : 0;
}

static int prepare_binary(dn_plan *p, const char *task, const kg_run_case *c, kg_error *err) {
    const binary *b = binaries;
    while (strcmp(b->task, task)) b++;
    const bool fused = !strcmp(task, "fused_mul_sub");
    const kg_run_tensor *x = kg_baseline_tensor(c, "input"), *z = kg_baseline_tensor(c, "other_sub");
    const kg_run_tensor *y = kg_baseline_tensor(c, fused ? "other_mul" : "other"), *out = kg_baseline_out(c);
    const kg_run_arg *number = kg_baseline_arg(c, fused ? "other_mul" : "other");
    const double alpha = kg_baseline_float(c, "alpha", 1);
    if (out->desc.dtype == KG_I32) return inexact(err);
    if (kg_baseline_arg(c, "rounding_mode")) return kg_baseline_refuse(err, "onednn", "rounded division");
    if (x && !y && number && !fused) return with_number(p, b, c, x, number->f, err);
    if (!x || !y || (fused && (!z || alpha != 1))) return kg_baseline_refuse(err, "onednn", "these operands");
    if (x->desc.dtype != y->desc.dtype || x->desc.dtype != out->desc.dtype)
        return kg_baseline_refuse(err, "onednn", "mixed dtypes");
    const int n = out->desc.ndim;
    kg_tensor to = out->desc, a = pad_dims(&x->desc, n), d = pad_dims(&y->desc, n), e = {0};
    if (fused) e = pad_dims(&z->desc, n);
    flatten_together((kg_tensor *[]){&to, &a, &d, &e}, fused ? 4 : 3);
    dn_md m_to, m_a, m_d, m_e;
    if (kg_dnnl_describe(p, &to, &m_to, err) || kg_dnnl_describe(p, &a, &m_a, err) ||
        kg_dnnl_describe(p, &d, &m_d, err) || (fused && kg_dnnl_describe(p, &e, &m_e, err)))
        return -1;
    dn_op op;
    void *attr;
    dn_step *s = NULL;
    if (binary_attr(p, alpha, fused ? &m_e : NULL, &attr) || p->api.binary_desc_init(&op, b->alg, &m_a, &m_d, &m_to))
        kg_baseline_refuse(err, "onednn", "such broadcast or scale");
    else s = kg_dnnl_step(p, &op, attr, "such binary operation", err);
    if (attr) p->api.primitive_attr_destroy(attr);
    if (!s) return -1;
    void *ma = kg_dnnl_follow(p, &m_a, x, err), *md = kg_dnnl_follow(p, &m_d, y, err);
    void *mo = kg_dnnl_follow(p, &m_to, out, err), *me = fused ? kg_dnnl_follow(p, &m_e, z, err) : NULL;
    if (!ma || !md || !mo || (fused && !me)) return -1;
    kg_dnnl_step_arg(s, DN_ARG_SRC, ma);
    kg_dnnl_step_arg(s, DN_ARG_SRC_1, md);
    kg_dnnl_step_arg(s, DN_ARG_DST, mo);
    if (fused) kg_dnnl_step_arg(s, DN_ARG_POST_OP_0 | DN_ARG_SRC_1, me);
    return 0;
}

const dn_task kg_dnnl_pointwise[] = {
    {"relu", prepare_unary},
    {"tanh", prepare_unary},
    {"sigmoid", prepare_unary},
    {"abs", prepare_unary},
    {"exp", prepare_unary},
    {"sqrt", prepare_unary},
    {"log", prepare_unary},
    {"square", prepare_unary},
    {"exp_sqrt", prepare_unary},
    {"reciprocal", prepare_unary},
    {"gelu", prepare_unary},
    {"add", prepare_binary},
    {"mul", prepare_binary},
    {"sub", prepare_binary},
    {"div", prepare_binary},
    {"fused_mul_sub", prepare_binary},
    {NULL, NULL},
};
