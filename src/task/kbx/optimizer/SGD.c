// SGD(params, lr=1e-3, momentum=0, weight_decay=0, dampening=0, nesterov=False, maximize=False, foreach=None,
//     differentiable=False, fused=None) -> Optimizer
//
// Python: SGD([param], lr=..., ...), then step() with param.grad set. C and CUDA update in place and get what an
// optimizer object keeps: the momentum buffer, zero before the first call, and which call this is on it (1, 2, ...).
// With g the gradient (negated by maximize) plus weight_decay times the parameter, and momentum not 0, the buffer
// becomes g at the first call and momentum * buffer + (1 - dampening) g later; the step is lr times the buffer, with
// nesterov times g + momentum * buffer. foreach, differentiable and fused choose an implementation and change no value.
//
// Before every call of a case params and grads get new values; the buffer lives on. Bounds: src/task/optimizers.h.
#include "task/optimizers.h"

static const kg_param params[] = {
    {.name = "params", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "grads", .kind = KG_P_TENSOR},
    {.name = "momentum_buffer", .kind = KG_P_TENSOR, .native_only = true, .role = KG_STATE},
    {.name = "call_number", .kind = KG_P_INT, .optional = true, .native_only = true, .has_default = true, .number = 1},
    {.name = "lr", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-3},
    {.name = "momentum", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true},
    {.name = "weight_decay", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true},
    {.name = "dampening", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true},
    {.name = "nesterov", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "maximize", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "foreach", .kind = KG_P_BOOL, .optional = true, .nullable = true, .keyword = true},
    {.name = "differentiable", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true},
    {.name = "fused", .kind = KG_P_BOOL, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { PARAMS, GRADS, BUFFER, CALL, LR, MOMENTUM, DECAY, DAMPENING, NESTEROV, MAXIMIZE };
static const char *const outputs[] = {NULL};

// ---- cases ----------------------------------------------------------------------------------------
static const kg_optimizer_tensor tensors[] = {{"params", KG_NORMAL(0.5, 1)},
                                              {"grads", KG_NORMAL(0.1, 1)},
                                              {"momentum_buffer", {KG_FILL_ZERO, 0, 0}},
                                              {NULL, {KG_FILL_ZERO, 0, 0}}};

static kg_case *twice(kg_cases *b, kg_case *c) {
    (void)b;
    c->calls = 2;
    return c;
}
static kg_case *with(kg_cases *b, kg_case *c, int calls, double momentum, double dampening, double decay) {
    c->calls = calls;
    kg_set_float(c, b->task, "lr", 0.05);
    if (momentum != 0) kg_set_float(c, b->task, "momentum", momentum);
    if (dampening != 0) kg_set_float(c, b->task, "dampening", dampening);
    if (decay != 0) kg_set_float(c, b->task, "weight_decay", decay);
    return c;
}
static kg_case *rolling(kg_cases *b, kg_case *c) { return with(b, c, 2, 0.9, 0, 0); }
static kg_case *line(kg_cases *b, kg_dtype t, int64_t n) { return kg_optimizer_line(b, tensors, t, n); }

static void quick(kg_cases *b) {
    kg_optimizer_shapes(b, tensors, rolling);
    twice(b, line(b, KG_F32, 1000));
    with(b, line(b, KG_F32, 1023), 2, 0, 0, 0);
    with(b, line(b, KG_F32, 1023), 2, 0, 0, 0.5);
    with(b, line(b, KG_F32, 1023), 3, 0.9, 0, 0.5);
    // The first call's gradient is not dampened.
    with(b, line(b, KG_F32, 1023), 2, 0.8, 0.5, 0);
    with(b, line(b, KG_F32, 1023), 3, 0.8, 0.5, 0);
    with(b, line(b, KG_F32, 515), 2, 0, 0.5, 0);  // without momentum dampening says nothing
    kg_set_bool(with(b, line(b, KG_F32, 1025), 2, 0.7, 0, 0), b->task, "nesterov", true);
    kg_set_bool(with(b, line(b, KG_F32, 1025), 3, 0.7, 0, 0.1), b->task, "nesterov", true);
    kg_set_bool(with(b, line(b, KG_F32, 515), 2, 0, 0, 0), b->task, "maximize", true);
    kg_case *c = with(b, line(b, KG_F32, 2051), 3, 0.6, 0, 0.25);
    kg_set_bool(c, b->task, "nesterov", true);
    kg_set_bool(c, b->task, "maximize", true);
    with(b, line(b, KG_F64, 515), 3, 0.9, 0.2, 0.1);
}

static void full(kg_cases *b) {
    kg_set_bool(with(b, line(b, KG_F32, 1025), 3, 0.8, 0.5, 0.1), b->task, "foreach", false);
    kg_set_float(with(b, line(b, KG_F32, 1025), 3, 0.9, 0, 0), b->task, "lr", 0);
    with(b, line(b, KG_F32, 1025), 8, 0.9, 0, 0);
    with(b, line(b, KG_F32, 1025), 4, 1, 0.1, 0);
    kg_set_bool(with(b, line(b, KG_F64, 515), 3, 0.7, 0, 0.1), b->task, "nesterov", true);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
    } else {
        kg_optimizer_timed(b, tensors, rolling);
    }
    return 0;
}

// PyTorch refuses nesterov without momentum or with dampening.
static int infer(const kg_task *t, kg_case *c) {
    if (c->args[NESTEROV].i && (c->args[MOMENTUM].f <= 0 || c->args[DAMPENING].f != 0)) return -1;
    return kg_optimizer_infer(t, c);
}

// ---- oracle ---------------------------------------------------------------------------------------
// One addition a x + b y: coefficients and products round, and the sum.
static kg_point combine(double a, kg_point x, double b, kg_point y) {
    const double v = a * x.value + b * y.value;
    return (kg_point){v,
                      fabs(a) * (x.local + 2 * fabs(x.value)) + fabs(b) * (y.local + 2 * fabs(y.value)) + 2 * fabs(v)};
}

static kg_point gradient(const kg_call *call, int64_t index) {
    const kg_arg *a = call->c->args;
    return kg_gradient(kg_at(&call->args[PARAMS], index), kg_at(&call->args[GRADS], index), a[DECAY].f,
                       a[MAXIMIZE].i != 0);
}

// Oldest call first.
static kg_point buffer(const kg_call *call, int64_t index) {
    const kg_arg *a = call->c->args;
    const kg_point g = gradient(call, index);
    return call->previous ? combine(a[MOMENTUM].f, buffer(call->previous, index), 1 - a[DAMPENING].f, g) : g;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_arg *a = call->c->args;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k];
        kg_point direction = gradient(call, i);
        if (a[MOMENTUM].f != 0) {
            const kg_point m = buffer(call, i);
            direction = a[NESTEROV].i ? combine(1, direction, a[MOMENTUM].f, m) : m;
        }
        const kg_point p = kg_point_exact(kg_at(&call->args[PARAMS], i)), one = kg_point_exact(1);
        kg_put_point(ref, k, kg_step(p, a[LR].f, 1, direction, one));
    }
    return 0;
}

// The buffer is read and written where there is momentum.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[PARAMS].tensor),
                 kept = c->args[MOMENTUM].f != 0 ? n * (double)kg_dtype_size(c->args[PARAMS].tensor.dtype) : 0;
    *w = (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t) + kept,
                   .bytes_written = (double)kg_case_output_bytes(c, t) + kept};
    w->ops[kg_plain_unit(c->args[PARAMS].tensor.dtype)] = (c->args[MOMENTUM].f != 0 ? 4 : 2) * n;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->calls;
}

const kg_task kg_task_kbx_SGD = {
    .name = "SGD",
    .suite = "kbx",
    .category = "Optimizer",
    .signature =
        "SGD(params, lr=1e-3, momentum=0, weight_decay=0, dampening=0, nesterov=False, maximize=False, foreach=None, "
        "differentiable=False, fused=None) -> Optimizer",
    .summary = "Gradient descent steps with momentum: Python makes the optimizer and calls step(); C works in place.",
    .params = params,
    .outputs = outputs,
    .convention = KG_CALL_OPTIMIZER,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    // PyTorch's multi-tensor form writes into the gradients when nesterov is on; they are inputs here.
    .torch_baseline = "lambda params, **options: torch.optim.SGD(params, **{**options, 'foreach': False})",
    .c_items = "kg_elements(params)",
    .c_body =
        "const double p = kg_get(params, i);\n"
        "const double g = (maximize ? -1.0 : 1.0) * kg_get(grads, i) + (weight_decay != 0 ? weight_decay * p : 0.0);\n"
        "double direction = g;\n"
        "if (momentum != 0) {\n"
        "    const double m = call_number == 1 ? g : momentum * kg_get(momentum_buffer, i) + (1.0 - dampening) * g;\n"
        "    kg_put(momentum_buffer, i, m);\n"
        "    direction = nesterov ? g + momentum * m : m;\n"
        "}\n"
        "kg_put(params, i, p - lr * direction);\n",
};
