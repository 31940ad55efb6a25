// rmsprop_step(param, grad, square_avg, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0) -> tuple
//
// One step, in place on param and square_avg; what the function returns is not looked at. As torch.optim.RMSprop: the
// decay is part of the gradient, eps is added to the root. Bounds: src/task/optimizers.h.
#include "task/optimizers.h"

static const kg_param params[] = {
    {.name = "param", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "grad", .kind = KG_P_TENSOR},
    {.name = "square_avg", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "lr", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-2},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0.99},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-8},
    {.name = "weight_decay", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true},
    {.name = NULL}};
enum { PARAM, GRAD, SQUARE_AVG, LR, ALPHA, EPS, DECAY };
static const char *const outputs[] = {NULL};

// ---- cases ----------------------------------------------------------------------------------------
static const kg_optimizer_tensor tensors[] = {{"param", KG_NORMAL(0.5, 1)},
                                              {"grad", KG_NORMAL(0.1, 1)},
                                              {"square_avg", KG_UNIFORM(0.25, 2)},
                                              {NULL, {KG_FILL_ZERO, 0, 0}}};

static kg_case *plain(kg_cases *b, kg_case *c) {
    (void)b;
    return c;
}
static kg_case *with(kg_cases *b, kg_dtype t, const char *name, double v) {
    kg_case *c = kg_optimizer_line(b, tensors, t, 1025);
    kg_set_float(c, b->task, name, v);
    return c;
}

static void quick(kg_cases *b) {
    kg_optimizer_shapes(b, tensors, plain);
    with(b, KG_F32, "lr", 0.1)->args[SQUARE_AVG].fill = (kg_fill){KG_FILL_CONST, 0, 0};  // as it starts
    with(b, KG_F32, "alpha", 0.5);
    with(b, KG_F32, "alpha", 0);
    with(b, KG_F32, "eps", 0.5);
    with(b, KG_F32, "weight_decay", 0.5);
    kg_set_float(with(b, KG_F32, "weight_decay", 0.25), b->task, "alpha", 0.7);
    with(b, KG_F16, "alpha", 0.9);
    with(b, KG_BF16, "alpha", 0.9);
    with(b, KG_F64, "weight_decay", 0.5);
}

static void full(kg_cases *b) {
    with(b, KG_F32, "lr", 0);
    kg_set_float(with(b, KG_F32, "eps", 0.1), b->task, "weight_decay", 3);
    with(b, KG_F16, "weight_decay", 0.5);
    with(b, KG_F64, "eps", 0.1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
    } else {
        kg_optimizer_timed(b, tensors, plain);
    }
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_arg *a = call->c->args;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k];
        const double p = kg_at(&call->args[PARAM], i);
        const kg_point g = kg_gradient(p, kg_at(&call->args[GRAD], i), a[DECAY].f, false);
        const kg_point v =
            kg_moving_average(kg_point_exact(kg_at(&call->args[SQUARE_AVG], i)), a[ALPHA].f, kg_square(g));
        if (ref->out == 0) kg_put_point(ref, k, kg_step(kg_point_exact(p), a[LR].f, 1, g, kg_root(v, 1, 0, a[EPS].f)));
        else kg_put_point(ref, k, v);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[PARAM].tensor);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_plain_unit(c->args[PARAM].tensor.dtype)] = 8 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_RMSProp = {
    .name = "RMSProp",
    .suite = "kbx",
    .category = "Optimizer",
    .signature = "rmsprop_step(param, grad, square_avg, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0) -> tuple",
    .summary = "One RMSProp step in place on the parameter and the moving average of squared gradients.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_optimizer_infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda param, grad, square_avg, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0: "
        "torch.optim._functional.rmsprop([param], [grad], [square_avg], [], [], [torch.tensor(0.0)], foreach=False, "
        "lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=0, centered=False)",
    .c_items = "kg_elements(param)",
    .c_body =
        "const double p = kg_get(param, i), g = kg_get(grad, i) + (weight_decay != 0 ? weight_decay * p : 0.0);\n"
        "const double v = alpha * kg_get(square_avg, i) + (1.0 - alpha) * g * g;\n"
        "kg_put(square_avg, i, v);\n"
        "kg_put(param, i, p - lr * g / (sqrt(v) + eps));\n",
};
