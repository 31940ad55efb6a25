// digamma(input, *, out=None) -> Tensor
//
// Condition |x psi'(x)|, an absolute error at the zeros; left of 0 what reflection cancels is charged too. psi(0) is
// -inf and psi(-0) inf; NaN at the negative integers and -inf.
#include "oracle/special.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_U8, KG_BOOL, KG_DTYPES};
    kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(1, 3), .wide = KG_LOGSCALE(-20, 12)};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(1031), KG_UNIFORM(1, 2));  // the zero at 1.4616
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(1031), KG_UNIFORM(-9, 0));
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(129), KG_INTEGERS(-8, 8));  // poles
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F64, KG_SHAPE(1031), KG_UNIFORM(-9, 20));
    kg_constant_case(b, "input", KG_F32, -0.0);
    return 0;
}

static kg_point at(const double *x, const void *ctx) { return kg_polygamma_point(0, *x, *(const kg_dtype *)ctx); }

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &call->c->outs[ref->out].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 20, 2); }

const kg_task kg_task_kbx_digamma = {
    .name = "digamma",
    .suite = "kbx",
    .category = "Math",
    .signature = "digamma(input, *, out=None) -> Tensor",
    .summary = "Logarithmic derivative of the gamma function.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.digamma",
    .c_body =
        "double x = kg_get(input, i), sum = 0;\n"
        "if (x == 0 || x != x || (x < 0 && x == floor(x))) {\n"
        "    kg_put(out, i, x == 0 ? -1.0 / x : NAN);\n"
        "    return;\n"
        "}\n"
        "// Reflection to the right, steps up to 12, then the asymptotic series.\n"
        "if (x < 0) {\n"
        "    const double angle = 3.14159265358979323846 * (x - rint(x));\n"
        "    sum = -3.14159265358979323846 * cos(angle) / sin(angle);\n"
        "    x = 1 - x;\n"
        "}\n"
        "for (; x < 12; x += 1) sum -= 1 / x;\n"
        "const double y = 1 / (x * x);\n"
        "const double tail = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));\n"
        "kg_put(out, i, sum + log(x) - 0.5 / x - tail);\n",
};
