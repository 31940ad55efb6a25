// airy_ai(input, *, out=None) -> Tensor
//
// Left of 0 the condition is that of a phase 2/3 |x|^(3/2), right of it |x Ai'(x)| (oracle/special.c).
//
// PyTorch has it for float32 and float64 (2.11). It gives NaN at the infinities, where the limits are 0: no case has
// them. It is wrong by up to 1.8e-5 of the value just left of -2.09, where it changes to an asymptotic formula too
// early: one float32 case has such values. In float64 that shows further left as well (2e-6 at -2.5, 1e-8 at -3).
#include "oracle/special.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F64, KG_I32, KG_I64, KG_U8, KG_BOOL, KG_DTYPES};
    const kg_unary_family f = {
        .dtypes = dtypes, .fill = KG_NORMAL(3, 1), .wide = KG_LOGSCALE(-12, 1), .no_specials = true};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(4099), KG_UNIFORM(-2, 8));
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(4099), KG_UNIFORM(-40, -3));
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F32, KG_SHAPE(515), KG_UNIFORM(-3, -2));
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F64, KG_SHAPE(1031), KG_UNIFORM(-2, 2));
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F64, KG_SHAPE(1031), KG_UNIFORM(-30, 30));
    kg_constant_case(b, "input", KG_F32, NAN);
    kg_constant_case(b, "input", KG_F64, NAN);
    kg_constant_case(b, "input", KG_F32, 0);
    return 0;
}

static kg_point at(const double *x, const void *ctx) { return kg_airy_ai_point(*x, *(const kg_dtype *)ctx); }

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &call->c->outs[ref->out].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 40, 4); }

const kg_task kg_task_kbx_airy_ai = {
    .name = "airy_ai",
    .suite = "kbx",
    .category = "Math",
    .signature = "airy_ai(input, *, out=None) -> Tensor",
    .summary = "Airy function Ai.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.special.airy_ai",
    .c_body =
        "const double x = kg_get(input, i), size = fabs(x), root = sqrt(size), z = 2.0 / 3.0 * size * root;\n"
        "const double pi = 3.14159265358979323846;\n"
        "if (x >= 1) {\n"
        "    // Ai(x) = sqrt(x / 3) K_1/3(z) / pi, the integral of exp(-z cosh t) cosh(t / 3) by the trapezoidal rule.\n"
        "    double sum = 0.5;\n"
        "    for (int k = 1; k < 400; k++) {\n"
        "        const double t = k / 32.0, term = exp(-2 * z * sinh(t / 2) * sinh(t / 2)) * cosh(t / 3);\n"
        "        sum += term;\n"
        "        if (term < 1e-18 * sum) break;\n"
        "    }\n"
        "    kg_put(out, i, sqrt(size / 3) * exp(-z) / pi * sum / 32);\n"
        "} else if (x < -12) {\n"
        "    // Asymptotic series: DLMF 9.7.9.\n"
        "    double p = 0, q = 0, c = 1;\n"
        "    for (int k = 0; k < 24; k++) {\n"
        "        if (k % 2 == 0) p += k % 4 ? -c : c;\n"
        "        else q += k % 4 == 3 ? -c : c;\n"
        "        c *= (6.0 * k + 1) * (6.0 * k + 5) / (72.0 * (k + 1) * z);\n"
        "    }\n"
        "    kg_put(out, i, (cos(z - pi / 4) * p + sin(z - pi / 4) * q) / (sqrt(pi) * sqrt(root)));\n"
        "} else {\n"
        "    // Taylor steps of y'' = x y from 0.\n"
        "    double y = 0.355028053887817239, slope = -0.258819403792806798, from = 0;\n"
        "    const int steps = (int)ceil(2 * size);\n"
        "    for (int s = 0; s < steps; s++) {\n"
        "        const double h = x / steps;\n"
        "        double before = 0, a = y, b = slope * h, power_y = y + b, power_s = slope;\n"
        "        for (int n = 0; n < 30; n++) {\n"
        "            const double next = (from * h * h * a + h * h * h * before) / ((n + 1.0) * (n + 2.0));\n"
        "            power_y += next;\n"
        "            power_s += (n + 2) * next / h;\n"
        "            before = a;\n"
        "            a = b;\n"
        "            b = next;\n"
        "        }\n"
        "        y = power_y;\n"
        "        slope = power_s;\n"
        "        from += h;\n"
        "    }\n"
        "    kg_put(out, i, x == x ? y : x);\n"
        "}\n",
};
