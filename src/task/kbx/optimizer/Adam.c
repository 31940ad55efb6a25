// Adam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, foreach=None, maximize=False,
//      capturable=False, differentiable=False, fused=None) -> Optimizer
//
// Python: Adam([param], lr=..., ...), then step() with param.grad set. C and CUDA update in place and get what an
// optimizer object keeps: the moments, zero before the first call, and which call this is on them (1, 2, ...). foreach,
// capturable, differentiable and fused choose an implementation and change no value.
//
// Before every call of a case params and grads get new values; the moments live on. The oracle replays the chain.
//
// Bounds: first-order error propagation through the moments. Coefficients count: 1 - beta formed in float32 from a
// float32 beta has a relative error of u beta / (1 - beta), 500 u for 0.999, and so has 1 - beta^t.
#include <math.h>

#include "oracle/oracle.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "params", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "grads", .kind = KG_P_TENSOR},
    {.name = "exp_avg", .kind = KG_P_TENSOR, .native_only = true, .role = KG_STATE},
    {.name = "exp_avg_sq", .kind = KG_P_TENSOR, .native_only = true, .role = KG_STATE},
    {.name = "max_exp_avg_sq", .kind = KG_P_TENSOR, .native_only = true, .role = KG_STATE},
    {.name = "call_number", .kind = KG_P_INT, .optional = true, .native_only = true, .has_default = true, .number = 1},
    {.name = "lr", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-3},
    {.name = "betas", .kind = KG_P_FLOATS, .optional = true, .keyword = true},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-8},
    {.name = "weight_decay", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true},
    {.name = "amsgrad", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "foreach", .kind = KG_P_BOOL, .optional = true, .nullable = true, .keyword = true},
    {.name = "maximize", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "capturable", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "differentiable", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "fused", .kind = KG_P_BOOL, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { PARAMS, GRADS, EXP_AVG, EXP_AVG_SQ, MAX_EXP_AVG_SQ, CALL, LR, BETAS, EPS, DECAY, AMSGRAD, FOREACH, MAXIMIZE };
static const char *const outputs[] = {NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *strided(kg_cases *b, kg_tensor desc, int calls) {
    kg_case *c = kg_case_add(b);
    const kg_tensor dense = kg_tensor_contiguous(desc.dtype, desc.ndim, desc.shape);
    kg_set_strided(c, b->task, "params", desc, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "grads", dense, KG_NORMAL(0.1, 1));
    kg_set_strided(c, b->task, "exp_avg", dense, (kg_fill){0});
    kg_set_strided(c, b->task, "exp_avg_sq", dense, (kg_fill){0});
    kg_set_strided(c, b->task, "max_exp_avg_sq", dense, (kg_fill){0});
    kg_arg *betas = &c->args[BETAS];  // the default, which is no single number
    betas->n = 2, betas->floats[0] = 0.9, betas->floats[1] = 0.999;
    c->calls = calls;
    return c;
}

static kg_case *line(kg_cases *b, kg_dtype t, int64_t n, int calls) {
    return strided(b, kg_tensor_contiguous(t, 1, &n), calls);
}

// A step of 0.05 stands out from a parameter of size 1, where the default's of 0.001 does less.
static kg_case *with(kg_cases *b, kg_case *c, double beta1, double beta2) {
    kg_set_float(c, b->task, "lr", 0.05);
    kg_set_floats(c, b->task, "betas", 2, (double[]){beta1, beta2});
    return c;
}

static void quick(kg_cases *b) {
    line(b, KG_F32, 1000, 2);
    line(b, KG_F32, 1, 2);
    with(b, line(b, KG_F32, 4099, 3), 0.9, 0.999);
    with(b, line(b, KG_F32, 1023, 3), 0.5, 0.75);
    with(b, line(b, KG_F32, 1023, 2), 0, 0.9);
    // eps of the size of sqrt(v): inside or outside the root matters.
    kg_set_float(with(b, line(b, KG_F32, 1025, 2), 0.9, 0.99), b->task, "eps", 0.1);
    // weight decay is part of the gradient, not of the step.
    kg_set_float(with(b, line(b, KG_F32, 1025, 2), 0.9, 0.99), b->task, "weight_decay", 0.5);
    // beta2 0.5 lets v fall from call to call, so that its maximum is another value.
    kg_set_bool(with(b, line(b, KG_F32, 1025, 3), 0.8, 0.5), b->task, "amsgrad", true);
    kg_set_bool(with(b, line(b, KG_F32, 515, 2), 0.9, 0.99), b->task, "maximize", true);
    kg_case *c = with(b, line(b, KG_F32, 2051, 3), 0.7, 0.6);
    kg_set_float(c, b->task, "weight_decay", 0.1);
    kg_set_bool(c, b->task, "amsgrad", true);
    kg_set_bool(c, b->task, "maximize", true);
    kg_set_float(c, b->task, "eps", 1e-3);
    strided(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(33, 65)), 2);
    with(b, line(b, KG_F32, 515, 2), 0.9, 0.99)->args[GRADS].fill = KG_LOGSCALE(-12, 6);
    with(b, line(b, KG_F64, 515, 3), 0.9, 0.999);
}

static void full(kg_cases *b) {
    with(b, strided(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 2), 0.9, 0.99);
    with(b, line(b, KG_F32, 65537, 3), 0.9, 0.999)->args[GRADS].fill = KG_OUTLIERS(0, 1);
    kg_set_bool(with(b, line(b, KG_F32, 1025, 3), 0.8, 0.5), b->task, "foreach", false);
    kg_set_float(line(b, KG_F32, 1025, 3), b->task, "lr", 0);
    with(b, line(b, KG_F32, 1025, 8), 0.9, 0.999);
    kg_case *c = with(b, line(b, KG_F64, 515, 3), 0.7, 0.5);
    kg_set_bool(c, b->task, "amsgrad", true);
    kg_set_float(c, b->task, "weight_decay", 0.1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 1 << 12 : 1 << 14; n <= (cuda ? 1 << 27 : 1 << 23); n *= cuda ? 2 : 8)
        line(b, KG_F32, n, 2);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *p = &c->args[PARAMS].tensor, *g = &c->args[GRADS].tensor;
    kg_tensor view;
    c->n_outs = 0;
    if (p->dtype != g->dtype || p->ndim != g->ndim || c->args[BETAS].n != 2) return -1;
    return kg_expand(g, p, &view) || kg_numel(p) != kg_numel(g) ? -1 : 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    double beta1, beta2, lr, eps, decay;
    bool amsgrad, maximize;
} options;

// The moments of one element after some calls, and their errors in units of u.
typedef struct {
    double m, v, top;  // top: largest v so far
    double m_error, v_error, top_error;
    int64_t steps;
} moments;

static options read_options(const kg_case *c) {
    return (options){c->args[BETAS].floats[0], c->args[BETAS].floats[1], c->args[LR].f,           c->args[EPS].f,
                     c->args[DECAY].f,         c->args[AMSGRAD].i != 0,  c->args[MAXIMIZE].i != 0};
}

static void advance(moments *s, const options *o, double p, double grad) {
    const double g = (o->maximize ? -grad : grad) + o->decay * p;
    const double g_error = o->decay == 0 ? 0 : fabs(g) + 2 * fabs(o->decay * p);
    s->m = o->beta1 * s->m + (1 - o->beta1) * g;
    s->m_error = o->beta1 * s->m_error + (1 - o->beta1) * (g_error + 2 * fabs(g)) + o->beta1 * fabs(g) + 2 * fabs(s->m);
    s->v = o->beta2 * s->v + (1 - o->beta2) * g * g;
    s->v_error =
        o->beta2 * s->v_error + (1 - o->beta2) * (2 * fabs(g) * g_error + 3 * g * g) + o->beta2 * g * g + 2 * s->v;
    if (s->v > s->top) s->top = s->v;
    if (s->v_error > s->top_error) s->top_error = s->v_error;
    s->steps++;
}

// 1 - beta^t and its relative error.
static double correction(double beta, int64_t t, double *relative) {
    const double power = pow(beta, (double)t), c = 1 - power;
    *relative = 1 + (double)t * power / c;
    return c;
}

static kg_point step(const moments *s, const options *o, double p) {
    double relative1, relative2;
    const double c1 = correction(o->beta1, s->steps, &relative1), c2 = correction(o->beta2, s->steps, &relative2);
    const double v = o->amsgrad ? s->top : s->v, v_error = o->amsgrad ? s->top_error : s->v_error;
    const double root = sqrt(v / c2), denominator = root + o->eps;
    const double root_error = v > 0 ? root * (v_error / (2 * v) + relative2 / 2 + 2) : 0;
    const double update = o->lr / c1 * s->m / denominator;
    const double error =
        fabs(o->lr) / c1 *
            (s->m_error / denominator + fabs(s->m) * (root_error + 2 * o->eps) / (denominator * denominator)) +
        fabs(update) * (relative1 + 4);
    return (kg_point){p - update, 2 * fabs(p) + 2 * error};
}

// Oldest call first.
static void replay(const kg_call *call, const options *o, int64_t index, moments *s) {
    if (call->previous) replay(call->previous, o, index, s);
    advance(s, o, kg_at(&call->args[PARAMS], index), kg_at(&call->args[GRADS], index));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const options o = read_options(call->c);
    for (size_t k = 0; k < ref->n; k++) {
        moments s = {0};
        replay(call, &o, ref->index[k], &s);
        const kg_point r = step(&s, &o, kg_at(&call->args[PARAMS], ref->index[k]));
        ref->value[k] = r.value;
        ref->local[k] = r.local;
        ref->acc[k] = 0;
    }
    return 0;
}

// The moments are read and written at every step.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[PARAMS].tensor),
                 moments_bytes = n * (double)kg_dtype_size(c->args[PARAMS].tensor.dtype) * (c->args[AMSGRAD].i ? 3 : 2);
    *w = (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t) + moments_bytes,
                   .bytes_written = (double)kg_case_output_bytes(c, t) + moments_bytes};
    w->ops[kg_plain_unit(c->args[PARAMS].tensor.dtype)] = 12 * n;
    w->ops[KG_U_SPECIAL] = n;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->calls;
}

const kg_task kg_task_kbx_Adam = {
    .name = "Adam",
    .suite = "kbx",
    .category = "Optimizer",
    .signature =
        "Adam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, foreach=None, "
        "maximize=False, capturable=False, differentiable=False, fused=None) -> Optimizer",
    .summary = "Adam steps: Python makes the optimizer and calls step(); C updates params and the moments in place.",
    .params = params,
    .outputs = outputs,
    .convention = KG_CALL_OPTIMIZER,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "torch.optim.Adam",
    .c_items = "kg_elements(params)",
    .c_body =
        "const double beta1 = betas->v[0], beta2 = betas->v[1], p = kg_get(params, i);\n"
        "const double g = (maximize ? -1.0 : 1.0) * kg_get(grads, i) + weight_decay * p;\n"
        "const double m = beta1 * kg_get(exp_avg, i) + (1.0 - beta1) * g;\n"
        "const double v = beta2 * kg_get(exp_avg_sq, i) + (1.0 - beta2) * g * g;\n"
        "kg_put(exp_avg, i, m);\n"
        "kg_put(exp_avg_sq, i, v);\n"
        "double largest = v;\n"
        "if (amsgrad) {\n"
        "    largest = fmax(v, kg_get(max_exp_avg_sq, i));\n"
        "    kg_put(max_exp_avg_sq, i, largest);\n"
        "}\n"
        "const double root = sqrt(largest / (1.0 - pow(beta2, (double)call_number)));\n"
        "const double rate = lr / (1.0 - pow(beta1, (double)call_number));\n"
        "kg_put(params, i, p - rate * m / (root + eps));\n",
};
