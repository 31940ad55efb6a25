// rad2deg_sqrt(input) -> (Tensor, Tensor)
//
// 180 x / pi is one rounded product, condition 1. A denormal may be taken for zero (flush to zero): up to 57.3 times
// 2^-126, here in units of float32's roundoff.
#include "task/pointwise.h"

static const char *const outputs[] = {"degrees", "root", NULL};

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(-1, 7), .wide = KG_LOGSCALE(-30, 30)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -3, 9);
    return 0;
}

static kg_point first_at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = *x * (180 / M_PI);
    if (!isfinite(*x)) return kg_point_exact(v);
    kg_point p = kg_point_make(v, v);
    if (fabs(*x) < 0x1p-126) p.local += (180 / M_PI) * 0x1p-102;
    return p;
}

static kg_point second_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_sqrt_point(*x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    return kg_pointwise_oracle(call, ref, ref->out == 0 ? first_at : second_at);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 1); }

const kg_task kg_task_kbx_rad2deg_sqrt = {
    .name = "rad2deg_sqrt",
    .suite = "kbx",
    .category = "Math",
    .signature = "rad2deg_sqrt(input) -> (Tensor, Tensor)",
    .summary = "Each element from radians to degrees, and its square root (NaN below zero).",
    .params = kg_params_input,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_two_floats,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input: (torch.rad2deg(input), torch.sqrt(input))",
    .c_items = "kg_elements(input)",
    .c_body =
        "const double x = kg_get(input, i);\n"
        "kg_put(degrees, i, x * (180.0 / 3.14159265358979323846));\n"
        "kg_put(root, i, sqrt(x));\n",
};
