// logit(input, eps=None, *, out=None) -> Tensor
//
// log(z / (1 - z)), z = input, or input held within [eps, 1 - eps] when eps is given. Condition 1 / (1 - z), for 1 - z
// as well as for z; near z = 1/2, where the answer is 0, it is that much absolute.
#include "task/pointwise.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, EPS };

static kg_case *held(kg_cases *b, kg_dtype t, double eps, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(1027), fill);
    kg_set_float(c, b->task, "eps", eps);
    return c;
}

static int cases(kg_cases *b) {
    const kg_unary_family f = {
        .dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(0.01, 0.99), .wide = KG_LOGSCALE(-30, 0)};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    held(b, KG_F32, 1e-6, KG_UNIFORM(0, 1));
    held(b, KG_F32, 0.125, KG_UNIFORM(-0.5, 1.5));
    held(b, KG_F32, 0.25, KG_SPECIALS(0.5, 0.5));  // NaN stays
    held(b, KG_F32, 0, KG_UNIFORM(-0.5, 1.5));     // infinities
    held(b, KG_F64, 1e-3, KG_UNIFORM(-0.1, 1.1));
    held(b, KG_F16, 0.0625, KG_UNIFORM(-0.1, 1.1));
    held(b, KG_BF16, 0.125, KG_UNIFORM(-0.1, 1.1));
    kg_set_none(held(b, KG_F32, 0, KG_UNIFORM(-0.1, 1.1)), b->task, "eps");
    kg_small_integers(b, -1, 2);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    const kg_arg *eps = ctx;
    double z = *x;
    if (!eps->none) z = z < eps->f ? eps->f : z > 1 - eps->f ? 1 - eps->f : z;
    const double v = log(z / (1 - z));
    return kg_flushed(isfinite(v) ? kg_point_make(v, 2 / (1 - z)) : kg_point_exact(v), z);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &call->c->args[EPS]);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 2); }

const kg_task kg_task_kbx_logit = {
    .name = "logit",
    .suite = "kbx",
    .category = "Math",
    .signature = "logit(input, eps=None, *, out=None) -> Tensor",
    .summary = "log(x / (1 - x)) of each element, held within [eps, 1 - eps] if eps is given; NaN outside of [0, 1].",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.logit",
    .c_body =
        "double z = kg_get(input, i);\n"
        "if (eps && z < *eps) z = *eps;\n"
        "else if (eps && z > 1.0 - *eps) z = 1.0 - *eps;\n"
        "kg_put(out, i, log(z / (1.0 - z)));\n",
};
