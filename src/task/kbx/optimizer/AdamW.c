// adamw_step(param, grad, exp_avg, exp_avg_sq, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01)
// -> tuple
//
// One step, in place on param, exp_avg and exp_avg_sq; what the function returns is not looked at. As
// torch.optim.AdamW: param shrinks by lr * weight_decay of itself first, and the moments are divided by 1 - beta^step.
// step counts from 1. Bounds: src/task/optimizers.h.
#include "task/optimizers.h"

static const kg_param params[] = {
    {.name = "param", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "grad", .kind = KG_P_TENSOR},
    {.name = "exp_avg", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "exp_avg_sq", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "step", .kind = KG_P_INT},
    {.name = "lr", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-3},
    {.name = "beta1", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0.9},
    {.name = "beta2", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0.999},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-8},
    {.name = "weight_decay",
     .kind = KG_P_FLOAT,
     .optional = true,
     .keyword = true,
     .has_default = true,
     .number = 0.01},
    {.name = NULL}};
enum { PARAM, GRAD, EXP_AVG, EXP_AVG_SQ, STEP, LR, BETA1, BETA2, EPS, DECAY };
static const char *const outputs[] = {NULL};

// ---- cases ----------------------------------------------------------------------------------------
static const kg_optimizer_tensor tensors[] = {{"param", KG_NORMAL(0.5, 1)},
                                              {"grad", KG_NORMAL(0.1, 1)},
                                              {"exp_avg", KG_NORMAL(0, 1)},
                                              {"exp_avg_sq", KG_UNIFORM(0.25, 2)},
                                              {NULL, {KG_FILL_ZERO, 0, 0}}};

static kg_case *first(kg_cases *b, kg_case *c) {
    kg_set_int(c, b->task, "step", 1);
    return c;
}
// A step of 0.05 stands out from a parameter of size 1, where the default's of 0.001 does less.
static kg_case *larger(kg_cases *b, kg_case *c) {
    kg_set_int(c, b->task, "step", 3);
    kg_set_float(c, b->task, "lr", 0.05);
    return c;
}
static kg_case *with(kg_cases *b, kg_dtype t, const char *name, double v) {
    kg_case *c = larger(b, kg_optimizer_line(b, tensors, t, 1025));
    if (name) kg_set_float(c, b->task, name, v);
    return c;
}

static void quick(kg_cases *b) {
    kg_optimizer_shapes(b, tensors, larger);
    first(b, kg_optimizer_line(b, tensors, KG_F32, 1000));
    kg_case *c = first(b, kg_optimizer_line(b, tensors, KG_F32, 1023));  // as it starts
    c->args[EXP_AVG].fill = c->args[EXP_AVG_SQ].fill = (kg_fill){KG_FILL_CONST, 0, 0};
    kg_set_int(with(b, KG_F32, NULL, 0), b->task, "step", 100);
    with(b, KG_F32, "beta1", 0.5);
    with(b, KG_F32, "beta1", 0);
    with(b, KG_F32, "beta2", 0.75);
    with(b, KG_F32, "eps", 0.5);
    with(b, KG_F32, "weight_decay", 0);
    with(b, KG_F32, "weight_decay", 2);
    with(b, KG_F16, "beta2", 0.9);
    with(b, KG_BF16, "beta2", 0.9);
    with(b, KG_F64, "weight_decay", 0.5);
}

static void full(kg_cases *b) {
    kg_set_int(with(b, KG_F32, NULL, 0), b->task, "step", 100000);
    kg_set_float(with(b, KG_F32, "weight_decay", 3), b->task, "beta1", 0.7);
    with(b, KG_F32, "lr", 0);
    with(b, KG_F16, "weight_decay", 2);
    with(b, KG_F64, "eps", 0.1);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
    } else {
        kg_optimizer_timed(b, tensors, first);
    }
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_arg *a = call->c->args;
    const kg_adam o = {a[BETA1].f, a[BETA2].f, a[LR].f, a[EPS].f, a[STEP].i};
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k];
        const kg_point g = kg_point_exact(kg_at(&call->args[GRAD], i));
        const double p = kg_at(&call->args[PARAM], i) * (1 - a[LR].f * a[DECAY].f);
        const kg_point m = kg_moving_average(kg_point_exact(kg_at(&call->args[EXP_AVG], i)), a[BETA1].f, g);
        const kg_point v =
            kg_moving_average(kg_point_exact(kg_at(&call->args[EXP_AVG_SQ], i)), a[BETA2].f, kg_square(g));
        const kg_point decayed = {p, 3 * fabs(p)};
        kg_put_point(ref, k, ref->out == 0 ? kg_adam_step(&o, decayed, m, v) : ref->out == 1 ? m : v);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[PARAM].tensor);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_plain_unit(c->args[PARAM].tensor.dtype)] = 12 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_AdamW = {
    .name = "AdamW",
    .suite = "kbx",
    .category = "Optimizer",
    .signature =
        "adamw_step(param, grad, exp_avg, exp_avg_sq, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, "
        "weight_decay=0.01) -> tuple",
    .summary = "One AdamW step in place on the parameter and its moments; the decay is apart from the gradient.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_optimizer_infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda param, grad, exp_avg, exp_avg_sq, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01: "
        "torch.optim._functional.adamw([param], [grad], [exp_avg], [exp_avg_sq], [], [torch.tensor(step - 1.0)], "
        "foreach=False, amsgrad=False, beta1=beta1, beta2=beta2, lr=lr, weight_decay=weight_decay, eps=eps, "
        "maximize=False)",
    .c_items = "kg_elements(param)",
    .c_body =
        "const double p = kg_get(param, i) * (1.0 - lr * weight_decay), g = kg_get(grad, i);\n"
        "const double m = beta1 * kg_get(exp_avg, i) + (1.0 - beta1) * g;\n"
        "const double v = beta2 * kg_get(exp_avg_sq, i) + (1.0 - beta2) * g * g;\n"
        "kg_put(exp_avg, i, m);\n"
        "kg_put(exp_avg_sq, i, v);\n"
        "const double root = sqrt(v / (1.0 - pow(beta2, (double)step)));\n"
        "kg_put(param, i, p - lr / (1.0 - pow(beta1, (double)step)) * m / (root + eps));\n",
};
