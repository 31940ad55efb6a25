// Adam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, foreach=None, maximize=False,
//      capturable=False, differentiable=False, fused=None) -> Optimizer
//
// Python: Adam([param], lr=..., ...), then step() with param.grad set. C and CUDA update in place and get what an
// optimizer object keeps: the moments, zero before the first call, and which call this is on them (1, 2, ...). foreach,
// capturable, differentiable and fused choose an implementation and change no value.
//
// Before every call of a case params and grads get new values; the moments live on. The oracle replays the chain.
//
// Bounds: src/task/optimizers.h.
#include "task/optimizers.h"

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
static const kg_optimizer_tensor tensors[] = {{"params", KG_NORMAL(0.5, 1)},
                                              {"grads", KG_NORMAL(0.1, 1)},
                                              {"exp_avg", {KG_FILL_ZERO, 0, 0}},
                                              {"exp_avg_sq", {KG_FILL_ZERO, 0, 0}},
                                              {"max_exp_avg_sq", {KG_FILL_ZERO, 0, 0}},
                                              {NULL, {KG_FILL_ZERO, 0, 0}}};

static kg_case *stepping(kg_case *c, int calls) {
    kg_arg *betas = &c->args[BETAS];  // the default, which is no single number
    betas->n = 2, betas->floats[0] = 0.9, betas->floats[1] = 0.999;
    c->calls = calls;
    return c;
}
static kg_case *twice(kg_cases *b, kg_case *c) {
    (void)b;
    return stepping(c, 2);
}

static kg_case *line(kg_cases *b, kg_dtype t, int64_t n, int calls) {
    return stepping(kg_optimizer_line(b, tensors, t, n), calls);
}

// A step of 0.05 stands out from a parameter of size 1, where the default's of 0.001 does less.
static kg_case *with(kg_cases *b, kg_case *c, double beta1, double beta2) {
    kg_set_float(c, b->task, "lr", 0.05);
    kg_set_floats(c, b->task, "betas", 2, (double[]){beta1, beta2});
    return c;
}
static kg_case *larger_steps(kg_cases *b, kg_case *c) { return with(b, stepping(c, 2), 0.9, 0.99); }

static void quick(kg_cases *b) {
    kg_optimizer_shapes(b, tensors, larger_steps);
    line(b, KG_F32, 1000, 2);
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
    kg_set_float(with(b, line(b, KG_F64, 515, 3), 0.9, 0.999), b->task, "weight_decay", 0.1);
}

static void full(kg_cases *b) {
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
    } else {
        kg_optimizer_timed(b, tensors, twice);
    }
    return 0;
}

static int infer(const kg_task *t, kg_case *c) { return c->args[BETAS].n == 2 ? kg_optimizer_infer(t, c) : -1; }

// ---- oracle ---------------------------------------------------------------------------------------
// The moments of one element after some calls.
typedef struct {
    kg_point m, v, top;  // top: largest v so far, and the largest error
    int64_t steps;
} moments;

// Oldest call first.
static void replay(const kg_call *call, int64_t index, moments *s) {
    if (call->previous) replay(call->previous, index, s);
    const kg_arg *a = call->c->args;
    const kg_point g = kg_gradient(kg_at(&call->args[PARAMS], index), kg_at(&call->args[GRADS], index), a[DECAY].f,
                                   a[MAXIMIZE].i != 0);
    s->m = kg_moving_average(s->m, a[BETAS].floats[0], g);
    s->v = kg_moving_average(s->v, a[BETAS].floats[1], kg_square(g));
    if (s->v.value > s->top.value) s->top.value = s->v.value;
    if (s->v.local > s->top.local) s->top.local = s->v.local;
    s->steps++;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_arg *a = call->c->args;
    for (size_t k = 0; k < ref->n; k++) {
        moments s = {0};
        replay(call, ref->index[k], &s);
        const kg_adam o = {a[BETAS].floats[0], a[BETAS].floats[1], a[LR].f, a[EPS].f, s.steps};
        const kg_point p = kg_point_exact(kg_at(&call->args[PARAMS], ref->index[k]));
        kg_put_point(ref, k, kg_adam_step(&o, p, s.m, a[AMSGRAD].i ? s.top : s.v));
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
