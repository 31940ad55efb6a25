// lion_step(param, grad, exp_avg, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0) -> tuple
//
// One step, in place on param and exp_avg; what the function returns is not looked at. param shrinks by lr *
// weight_decay of itself and moves by lr against the sign of beta1 exp_avg + (1 - beta1) grad; then exp_avg becomes
// beta2 exp_avg + (1 - beta2) grad. The sign of 0 is 0, and of NaN too, as torch.sign has it.
//
// Bounds. The sign is exact where the average is further from 0 than it can be rounded, else any of -1, 0 and 1 is
// right.
#include "oracle/reduce.h"
#include "task/optimizers.h"

static const kg_param params[] = {
    {.name = "param", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "grad", .kind = KG_P_TENSOR},
    {.name = "exp_avg", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "lr", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-4},
    {.name = "beta1", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0.9},
    {.name = "beta2", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0.99},
    {.name = "weight_decay", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true},
    {.name = NULL}};
enum { PARAM, GRAD, EXP_AVG, LR, BETA1, BETA2, DECAY };
static const char *const outputs[] = {NULL};

// ---- cases ----------------------------------------------------------------------------------------
// Averages of the size of a tenth of the gradient: the gradient decides half of the signs.
static const kg_optimizer_tensor tensors[] = {{"param", KG_NORMAL(0.5, 1)},
                                              {"grad", KG_NORMAL(0.1, 1)},
                                              {"exp_avg", KG_NORMAL(0, 0.1)},
                                              {NULL, {KG_FILL_ZERO, 0, 0}}};

static kg_case *plain(kg_cases *b, kg_case *c) {
    (void)b;
    return c;
}
static kg_case *with(kg_cases *b, kg_dtype t, const char *name, double v) {
    kg_case *c = kg_optimizer_line(b, tensors, t, 1025);
    if (kg_is_half(t)) kg_set_float(c, b->task, "lr", 0.05);  // the default's step is lost in a parameter's rounding
    kg_set_float(c, b->task, name, v);
    return c;
}

static void quick(kg_cases *b) {
    static const kg_fill zeros = {KG_FILL_CONST, 0, 0};
    kg_optimizer_shapes(b, tensors, plain);
    with(b, KG_F32, "lr", 0.1);
    with(b, KG_F32, "lr", 0.1)->args[EXP_AVG].fill = zeros;  // as it starts
    kg_case *c = with(b, KG_F32, "lr", 0.1);                 // no direction: no step
    c->args[EXP_AVG].fill = c->args[GRAD].fill = zeros;
    with(b, KG_F32, "beta1", 0.5);
    with(b, KG_F32, "beta1", 0);
    with(b, KG_F32, "beta2", 0.5);
    kg_set_float(with(b, KG_F32, "weight_decay", 0.5), b->task, "lr", 0.1);
    kg_set_float(with(b, KG_F32, "weight_decay", 2), b->task, "beta1", 0.97);
    with(b, KG_F16, "weight_decay", 2);
    with(b, KG_BF16, "weight_decay", 2);
    with(b, KG_F64, "weight_decay", 0.5);
}

static void full(kg_cases *b) {
    with(b, KG_F32, "lr", 0);
    with(b, KG_F32, "beta2", 0);
    with(b, KG_F16, "beta1", 0.5);
    with(b, KG_F64, "beta2", 0.7);
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
static kg_point moved(const kg_call *call, int64_t i) {
    const kg_arg *a = call->c->args;
    const kg_dtype t = call->args[PARAM].desc.dtype;
    const double u = kg_dtype_unit(t), g = kg_at(&call->args[GRAD], i), m = kg_at(&call->args[EXP_AVG], i);
    const double p = kg_at(&call->args[PARAM], i) * (1 - a[LR].f * a[DECAY].f);
    const double average = a[BETA1].f * m + (1 - a[BETA1].f) * g;
    const double slack = 4 * u * (fabs(a[BETA1].f * m) + fabs(g));
    const double sign = (average > 0) - (average < 0), lr = a[LR].f;
    if (fabs(average) < slack) return (kg_point){p, 4 * fabs(p) + fabs(lr) * (1 / u + 2)};
    return (kg_point){p - lr * sign, 4 * fabs(p) + 2 * fabs(lr * sign)};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const double beta2 = call->c->args[BETA2].f;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k];
        const kg_point g = kg_point_exact(kg_at(&call->args[GRAD], i));
        if (ref->out == 0) kg_put_point(ref, k, moved(call, i));
        else kg_put_point(ref, k, kg_moving_average(kg_point_exact(kg_at(&call->args[EXP_AVG], i)), beta2, g));
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[PARAM].tensor);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_plain_unit(c->args[PARAM].tensor.dtype)] = 9 * n;
}

const kg_task kg_task_kbx_Lion = {
    .name = "Lion",
    .suite = "kbx",
    .category = "Optimizer",
    .signature = "lion_step(param, grad, exp_avg, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0) -> tuple",
    .summary = "One Lion step in place: the parameter moves by lr against the sign of an average of gradients.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_optimizer_infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda param, grad, exp_avg, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0: "
        "(param.mul_(1 - lr * weight_decay).sub_(torch.sign(beta1 * exp_avg + (1 - beta1) * grad), alpha=lr), "
        "exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2))",
    .c_items = "kg_elements(param)",
    .c_body =
        "const double g = kg_get(grad, i), m = kg_get(exp_avg, i), average = beta1 * m + (1.0 - beta1) * g;\n"
        "const double direction = (double)(average > 0) - (double)(average < 0);\n"
        "kg_put(param, i, kg_get(param, i) * (1.0 - lr * weight_decay) - lr * direction);\n"
        "kg_put(exp_avg, i, beta2 * m + (1.0 - beta2) * g);\n",
};
